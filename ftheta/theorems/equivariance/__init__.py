"""Convolution and group equivariance"""
