"""What a track is made of: its tables found in folders and archives, read and counted, and the folder they become."""
