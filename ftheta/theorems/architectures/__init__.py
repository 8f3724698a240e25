"""Architectures"""
