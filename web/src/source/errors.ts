/** Errors of a source, with what happened and what to do next. */

export interface Span {
  line: number
  column: number
  start: number
  end: number
}

export class SourceError extends Error {
  constructor(
    readonly code: string,
    override readonly name: string,
    message: string,
    readonly hint: string | null = null,
    readonly status = 0,
    readonly span: Partial<Span> | null = null,
    readonly data: Record<string, unknown> = {},
  ) {
    super(message)
  }

  /** True if the server could not be reached, so that the same request may work later. */
  get away(): boolean {
    return this.status === 0 && this.code === 'away'
  }
}

export const away = (): SourceError =>
  new SourceError(
    'away',
    'ServerAway',
    'The server does not answer.',
    'It may have been stopped. The page tries again by itself.',
  )

export const unsupported = (what: string): SourceError =>
  new SourceError(
    'unsupported',
    'Unsupported',
    `${what} is not part of this snapshot.`,
    'Open the graph with `mycel explore` to see it.',
  )

/** An error as it stands in the body of an answer. */
export function errorFrom(body: unknown, status: number): SourceError {
  const error = (body as { error?: Record<string, unknown> } | null)?.error ?? {}
  const text = (key: string): string | null => (typeof error[key] === 'string' ? (error[key] as string) : null)
  return new SourceError(
    text('code') ?? String(status),
    text('name') ?? 'Error',
    text('message') ?? `The server answered with status ${status}.`,
    text('hint'),
    status,
    (error['span'] as Partial<Span> | undefined) ?? null,
    (error['data'] as Record<string, unknown> | undefined) ?? {},
  )
}
