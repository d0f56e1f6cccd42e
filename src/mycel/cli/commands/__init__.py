"""The commands of `mycel`, one module for each group of them.

- `databases`      init, doctor
- `demo`           demo
- `kip`            kip
- `capsules`       capsule
- `schema`         schema
- `transfer`       load, export
- `memory_import`  import
- `backups`        backup, restore
- `bootstrap`      bootstrap
- `concepts`       define, concept, search
- `embed`          embed
- `edges`          edge, find
- `traversal`      traverse
- `history`        log, tag, history, snapshot, purge, scrub
- `branches`       branch
- `mirror`         mirror
- `nodes`          note, show, ls
- `status`         status
- `merges`         merge, conflicts, resolve, choices
- `differences`    diff, rollback, revert
- `proofs`         prove, verify
- `mcp`            mcp
- `serve`          serve
- `explore`        explore
"""
