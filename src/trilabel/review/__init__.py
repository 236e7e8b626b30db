"""The local web page where a person confirms proposed labels: `trilabel review`."""
