"""The load of the HTTP server: point queries of many connections, alone and beside heavy ones."""
