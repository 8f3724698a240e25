"""Perceptrons and activations"""
