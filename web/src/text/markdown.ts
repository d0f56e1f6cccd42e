/**
 * Markdown as HTML that is safe to show. It is loaded when a content is first shown.
 *
 * HTML inside it is shown as text, except a few plain tags such as <br> and <details>; the result is sanitised again.
 * Links to nodes of the graph become buttons of the explorer; links to the web open in a new tab without a referrer.
 * Pictures from elsewhere are not loaded, because that would tell their server who reads: they become links.
 */

import DOMPurify from 'dompurify'
import { Marked, type Tokens } from 'marked'

const WEB = /^(https?|mailto):/i
const NODE = /^(concept|file|kip|memory|urn|doc):/i

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)

function anchor(href: string, inner: string): string {
  if (WEB.test(href)) return `<a href="${escapeHtml(href)}">${inner}</a>`
  if (NODE.test(href)) return `<a data-node="${escapeHtml(decode(href))}" href="#">${inner}</a>`
  return `<span class="dead-link">${inner}</span>`
}

function decode(href: string): string {
  try {
    return decodeURIComponent(href)
  } catch {
    return href
  }
}

const PLAIN_TAG =
  /^<\/?(?:b|br|code|del|details|em|h[1-6]|hr|i|ins|kbd|li|mark|ol|p|pre|s|samp|strong|sub|summary|sup|u|ul|var)\s*\/?>$/i

/** HTML with all tags as text that are not plain ones without attributes. */
const tame = (html: string): string => html.replace(/<[^>]*>?/g, (tag) => (PLAIN_TAG.test(tag) ? tag : escapeHtml(tag)))

const marked = new Marked({
  gfm: true,
  async: false,
  renderer: {
    html({ text }: Tokens.HTML | Tokens.Tag): string {
      return tame(text)
    },
    link({ href, tokens }: Tokens.Link): string {
      return anchor(href, this.parser.parseInline(tokens))
    },
    image({ href, text }: Tokens.Image): string {
      return WEB.test(href)
        ? anchor(href, `Picture: ${escapeHtml(text || href)}`)
        : `<span class="dead-link">Picture: ${escapeHtml(text)}</span>`
    },
  },
})

const RULES = {
  ALLOWED_TAGS: [
    'a',
    'abbr',
    'b',
    'blockquote',
    'br',
    'code',
    'dd',
    'del',
    'details',
    'dl',
    'dt',
    'em',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'hr',
    'i',
    'ins',
    'kbd',
    'li',
    'mark',
    'ol',
    'p',
    'pre',
    's',
    'samp',
    'span',
    'strong',
    'sub',
    'summary',
    'sup',
    'table',
    'tbody',
    'td',
    'th',
    'thead',
    'tr',
    'u',
    'ul',
    'var',
  ],
  ALLOWED_ATTR: ['href', 'data-node', 'title', 'align', 'start', 'class', 'open', 'dir', 'lang'],
  ALLOWED_URI_REGEXP: /^(?:(?:https?|mailto):|#)/i,
  RETURN_TRUSTED_TYPE: true,
}

DOMPurify.addHook('afterSanitizeAttributes', (element) => {
  if (element.tagName !== 'A') {
    if (element.getAttribute('class') !== 'dead-link' && !/^language-[\w-]+$/.test(element.getAttribute('class') ?? ''))
      element.removeAttribute('class')
    element.removeAttribute('data-node')
    return
  }
  const href = element.getAttribute('href') ?? ''
  element.removeAttribute('class')
  if (WEB.test(href)) {
    element.setAttribute('target', '_blank')
    element.setAttribute('rel', 'noopener noreferrer')
  } else if (!element.hasAttribute('data-node')) element.removeAttribute('href')
})

/** The HTML of a Markdown text, safe to put into the page. */
export function render(text: string): TrustedHTML {
  return DOMPurify.sanitize(marked.parse(text) as string, RULES) as unknown as TrustedHTML
}
