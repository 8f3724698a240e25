"""Residual networks and infinite depth"""
