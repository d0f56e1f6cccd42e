"""Running commands: one module per statement, in the order in which a command passes them.

values       the values of a command: literals, and parameters in the place of placeholders
outcome      what every statement returns
upsert       UPSERT
update       UPDATE
merge        MERGE
delete       DELETE
"""
