"""The vessel power track: shaft power of a merchant ship from her drafts, speed, weather and time since dry dock."""
