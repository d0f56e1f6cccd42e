/**
 * Builds the explorer into src/mycel/explorer/assets: hashed scripts and styles for the server, and
 * app.html, one file for MCP Apps and snapshots. The same sources always give the same bytes.
 *
 *     node build.mjs          write the files
 *     node build.mjs --check  compare with the files that are there; exit with 1 if they differ
 */

import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const HERE = dirname(fileURLToPath(import.meta.url))
const ASSETS = join(HERE, '..', 'src', 'mycel', 'explorer', 'assets')
const LIMITS = { first: 100_000, whole: 230_000, app: 400_000 }
const COMMON = {
  absWorkingDir: HERE,
  bundle: true,
  minify: true,
  target: 'es2022',
  legalComments: 'none',
  charset: 'utf8',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
  write: false,
  metafile: true,
  define: { 'process.env.NODE_ENV': '"production"' },
}

const packages = new Set()

/** Bundles entries; returns the files by name. */
async function bundle(options) {
  const { outputFiles, metafile } = await build({ ...COMMON, ...options, outdir: join(HERE, 'out') })
  for (const path of Object.keys(metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)
    if (found) packages.add(found[1])
  }
  return { files: new Map(outputFiles.map((file) => [file.path.split('/').pop(), Buffer.from(file.contents)])), metafile }
}

const named = (files, beginning, end) => [...files.keys()].find((name) => name.startsWith(beginning) && name.endsWith(end))

async function licences() {
  const texts = []
  for (const name of [...packages].sort()) {
    const folder = join(HERE, 'node_modules', name)
    const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    const file = (await readdir(folder)).find((each) => /^licen[sc]e/i.test(each))
    const text = file ? (await readFile(join(folder, file), 'utf8')).trim() : ''
    texts.push(`${name} ${version} (${license})\n\n${text}\n`)
  }
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}

/** All files of the assets folder, by name. */
async function make() {
  const hashed = { format: 'esm', entryNames: '[name]-[hash]', chunkNames: '[name]-[hash]', assetNames: '[name]-[hash]' }
  const worker = await bundle({ ...hashed, entryPoints: { layout: 'src/graph/layout-worker.ts' } })
  const layout = named(worker.files, 'layout-', '.js')
  const define = { ...COMMON.define, LAYOUT_WORKER: JSON.stringify(layout) }
  const page = await bundle({ ...hashed, splitting: true, define, entryPoints: { main: 'src/main.tsx', style: 'src/style.css' } })
  const app = await bundle({ format: 'iife', entryPoints: { app: 'src/app-main.tsx', style: 'src/style.css' } })

  const hashedFiles = new Map([...worker.files, ...page.files])
  const files = new Map(hashedFiles)
  const index = (await readFile(join(HERE, 'src', 'index.html'), 'utf8'))
    .replace('{{style}}', named(page.files, 'style-', '.css'))
    .replace('{{script}}', named(page.files, 'main-', '.js'))
  files.set('index.html', Buffer.from(index))
  const script = app.files.get('app.js').toString().replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')
  const single = (await readFile(join(HERE, 'src', 'app.html'), 'utf8'))
    .replace('{{style}}', () => app.files.get('style.css').toString().replaceAll('</style', '<\\/style'))
    .replace('{{script}}', () => script)
  files.set('app.html', Buffer.from(single))
  files.set('licenses.txt', Buffer.from(await licences()))
  const firstLoad = ['index.html', ...loadedAtOnce(page.metafile), layout, named(page.files, 'style-', '.css')]
  files.set('manifest.json', Buffer.from(`${JSON.stringify(manifest(hashedFiles), null, 2)}\n`))
  return { files, firstLoad: [...new Set(firstLoad)] }
}

/** The scripts that the page loads before anything is clicked: its entry and what that imports. */
function loadedAtOnce({ outputs }) {
  const loaded = new Set()
  const visit = (path) => {
    if (loaded.has(path)) return
    loaded.add(path)
    for (const { path: other, kind } of outputs[path].imports) if (kind === 'import-statement') visit(other)
  }
  visit(Object.keys(outputs).find((path) => outputs[path].entryPoint === 'src/main.tsx'))
  return [...loaded].map((path) => path.split('/').pop())
}

function manifest(hashedFiles) {
  const entries = {}
  for (const name of [...hashedFiles.keys()].sort()) {
    const bytes = hashedFiles.get(name)
    const type = name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'
    entries[name] = { type, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  }
  return { index: 'index.html', app: 'app.html', files: entries }
}

const zipped = (bytes) => gzipSync(bytes, { level: 9 }).length

/** Says how large everything is; fails if it is larger than promised. */
function weigh({ files, firstLoad }) {
  const sum = (names) => names.reduce((total, name) => total + zipped(files.get(name)), 0)
  const weights = {
    first: sum(firstLoad),
    whole: sum([...files.keys()].filter((name) => name === 'index.html' || /\.(js|css)$/.test(name))),
    app: files.get('app.html').length,
  }
  console.log(`first load ${weights.first} bytes gzipped, whole ${weights.whole}, app.html ${weights.app}`)
  for (const [what, weight] of Object.entries(weights)) {
    if (weight > LIMITS[what]) throw new Error(`${what} is ${weight} bytes, more than ${LIMITS[what]}`)
  }
}

async function write(folder, files) {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  for (const [name, bytes] of files) await writeFile(join(folder, name), bytes)
}

async function check(files) {
  const names = new Set([...(await readdir(ASSETS)), ...files.keys()])
  const stale = []
  for (const name of names) {
    const there = await readFile(join(ASSETS, name)).catch(() => null)
    if (!there || !files.has(name) || !there.equals(files.get(name))) stale.push(name)
  }
  if (!stale.length) return console.log('The committed bundle is what the sources give, byte for byte.')
  const folder = await mkdtemp(join(tmpdir(), 'mycel-web-'))
  await write(folder, files)
  console.error(`Stale: ${stale.sort().join(', ')}. Run \`make web\` and commit. What the sources give: ${folder}`)
  process.exitCode = 1
}

const made = await make()
weigh(made)
if (process.argv.includes('--check')) await check(made.files)
else await write(ASSETS, made.files)
