/** A reader of `text/event-stream` bodies. EventSource cannot send an Authorization header. */

export interface StreamEvent {
  event: string
  data: string
  id: string | null
}

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += decoder.decode(value, { stream: true })
      const blocks = rest.split(/\r?\n\r?\n/)
      rest = blocks.pop()!
      for (const block of blocks) {
        const event = parseEvent(block)
        if (event) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function parseEvent(block: string): StreamEvent | null {
  const event: StreamEvent = { event: 'message', data: '', id: null }
  let lines = 0
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
    if (field === 'event') event.event = value!
    else if (field === 'id') event.id = value!
    else if (field === 'data') event.data += (lines++ ? '\n' : '') + value
  }
  return lines ? event : null
}
