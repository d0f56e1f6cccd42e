declare module 'graphology-layout-forceatlas2/iterate.js' {
  export default function iterate(options: Record<string, number | boolean>, nodes: Float32Array, links: Float32Array): unknown
}
