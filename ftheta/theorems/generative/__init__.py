"""Generative models"""
