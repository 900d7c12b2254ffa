"""The weather track: temperature and precipitation class from three forecast models, for stations worldwide."""
