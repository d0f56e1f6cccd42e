/** The token of this tab, and the form that asks for it. The token never stands in a URL. */

import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { keep, kept } from './browser-storage'
import { Mark } from './parts/icons'
import { SourceError } from './source/errors'
import { redeem, type TokenStore } from './source/http'

const KEY = 'mycel:token'

export const askForToken = signal<string | null>(null)

/** Tokens live in sessionStorage: cookies of 127.0.0.1 would reach every port of the machine. */
export const tokens: TokenStore = {
  get: () => kept('session', KEY) ?? memory,
  refused: () => {
    const had = tokens.get() !== null
    memory = null
    keep('session', KEY, null)
    if (askForToken.value !== null) return
    askForToken.value = had ? 'The token was refused: it is wrong, expired or revoked.' : 'This server asks for a token.'
  },
}

let memory: string | null = null

function remember(token: string): void {
  memory = token
  keep('session', KEY, token)
}

/** Takes the ticket out of the address bar, before anything else reads it, and exchanges it. */
export async function takeTicket(): Promise<void> {
  const found = /(?:^#|&)ticket=([^&]+)/.exec(location.hash)
  if (!found) return
  history.replaceState(null, '', location.pathname + location.search)
  try {
    remember(await redeem(decodeURIComponent(found[1]!)))
  } catch (error) {
    askForToken.value = error instanceof SourceError ? `${error.message} ${error.hint ?? ''}` : 'The ticket did not work.'
  }
}

/** The form that asks for the token. The page stays behind it, with all typed text. */
export function SignIn({ done }: { done: () => void }): JSX.Element | null {
  const [text, setText] = useState('')
  const box = useRef<HTMLDialogElement>(null)
  const reason = askForToken.value
  const show = () => box.current?.showModal()
  useEffect(() => {
    if (reason !== null) show()
  }, [reason])
  if (reason === null) return null
  const submit = (event: Event) => {
    event.preventDefault()
    remember(text.trim())
    setText('')
    askForToken.value = null
    done()
  }
  return (
    <dialog ref={box} class="sign-in" aria-labelledby="sign-in-title" onCancel={(event) => event.preventDefault()} onClose={show}>
      <form onSubmit={submit}>
        <div class="brand">
          <Mark />
          <span>mycel</span>
        </div>
        <h1 id="sign-in-title">Token</h1>
        <p role="alert">{reason}</p>
        <label class="field">
          Token of the server
          <input
            name="token"
            type="password"
            autocomplete="off"
            required
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <p class="note">
          It is kept in this tab only, until it is closed. <code>mycel serve --open</code> and <code>mycel explore</code> sign in
          by themselves.
        </p>
        <button type="submit" class="button strong">
          Open the graph
        </button>
      </form>
    </dialog>
  )
}
