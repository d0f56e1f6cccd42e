"""What types and predicates demand of their instances. No I/O: definitions come in as data.

definitions: what a definition in the graph says, and whether an instance agrees with it.
slips: what in a definition means nothing, and what was probably meant.
"""
