"""Plots, pictures and tables of results."""
