/* The part of the Trusted Types API that the page uses. */

interface TrustedHTML {
  readonly __trusted: 'html'
}

interface TrustedScriptURL {
  readonly __trusted: 'url'
}

interface Window {
  readonly trustedTypes?: {
    createPolicy(
      name: string,
      rules: { createScriptURL(text: string): string },
    ): { createScriptURL(text: string): TrustedScriptURL }
  }
}
