"""A track of one's own: seven-segment digits as small images, clean in training and noisy after the shift."""
