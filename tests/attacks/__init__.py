"""Attacks on a real server in a process of its own, whose memory is limited."""
