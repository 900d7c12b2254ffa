"""The vessel power track: shaft power of a merchant ship from its drafts, speed, weather and time since dry dock."""
