/** The bridge of an MCP App to its host: JSON-RPC over messages between windows. */

type Message = {
  jsonrpc: '2.0'
  id?: number | string
  method?: string
  params?: unknown
  result?: unknown
  error?: { message: string }
}

const PROTOCOL = '2026-01-26'

export class Bridge {
  #id = 0
  readonly #waiting = new Map<number | string, { done: (result: unknown) => void; failed: (error: Error) => void }>()
  readonly #heard = new Map<string, (params: unknown) => void>()

  constructor(private readonly host: Window) {
    window.addEventListener('message', (event: MessageEvent<Message>) => {
      if (event.source === host && event.data?.jsonrpc === '2.0') this.#receive(event.data)
    })
  }

  /** Introduces the App; returns what the host says about itself. */
  async open(): Promise<{ hostContext?: { theme?: string } }> {
    const host = await this.request('ui/initialize', {
      appInfo: { name: 'mycel', version: '1' },
      appCapabilities: {},
      protocolVersion: PROTOCOL,
    })
    this.#send({ jsonrpc: '2.0', method: 'ui/notifications/initialized', params: {} })
    return host as { hostContext?: { theme?: string } }
  }

  on(method: string, heard: (params: unknown) => void): void {
    this.#heard.set(`ui/notifications/${method}`, heard)
  }

  notify(method: string, params: unknown): void {
    this.#send({ jsonrpc: '2.0', method: `ui/notifications/${method}`, params })
  }

  request(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#id
    this.#send({ jsonrpc: '2.0', id, method, params })
    return new Promise((done, failed) => this.#waiting.set(id, { done, failed }))
  }

  #receive({ id, method, params, result, error }: Message): void {
    if (method && id !== undefined) this.#send({ jsonrpc: '2.0', id, result: {} })
    else if (method) this.#heard.get(method)?.(params)
    else if (id !== undefined) {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error) waiting?.failed(new Error(error.message))
      else waiting?.done(result)
    }
  }

  #send(message: Message): void {
    this.host.postMessage(message, '*')
  }
}
