"""What models see of a scene: feature maps and vector features."""
