"""The physics behind the synthetic power: resistance, propeller and shaft power of a ship by published methods."""
