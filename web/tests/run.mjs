/** Runs the tests in this folder: esbuild turns each into JavaScript, and Node runs them. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const here = dirname(fileURLToPath(import.meta.url))
const outdir = mkdtempSync(join(tmpdir(), 'mycel-web-tests-'))
const names = readdirSync(here).filter((name) => name.endsWith('.test.ts'))
await build({
  entryPoints: names.map((name) => join(here, name)),
  bundle: true,
  platform: 'node',
  format: 'esm',
  outdir,
  outExtension: { '.js': '.mjs' },
  logLevel: 'warning',
})
const files = names.map((name) => join(outdir, name.replace(/ts$/, 'mjs')))
const { status } = spawnSync(process.execPath, ['--test', ...files], { stdio: 'inherit' })
rmSync(outdir, { recursive: true })
process.exitCode = status ?? 1
