/** Small drawings of the interface. They are decoration: the words stand beside them. */

import type { JSX } from 'preact'

const icon = (path: string) => (): JSX.Element => (
  <svg
    class="icon"
    viewBox="0 0 16 16"
    width="16"
    height="16"
    aria-hidden="true"
    fill="none"
    stroke="currentColor"
    stroke-width="1.5"
    stroke-linecap="round"
    stroke-linejoin="round">
    <path d={path} />
  </svg>
)

export const SearchIcon = icon('M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14')
export const UndoIcon = icon('M6 3 2.5 6.5 6 10M2.5 6.5h7a4 4 0 0 1 0 8H7')
export const RedoIcon = icon('m10 3 3.5 3.5L10 10m3.5-3.5h-7a4 4 0 0 0 0 8H9')
export const FitIcon = icon('M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10')
export const LayoutIcon = icon('M8 3.5v3M8 9.5 4.5 12M8 9.5l3.5 2.500M8 8m-1.5 0a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0')
export const TableIcon = icon('M2.5 3.500h11v9h-11ZM2.5 6.500h11M6.5 6.500v6')
export const GraphIcon = icon('M4 11.5 8 4.500l4 7ZM8 4.500m-1.5 0a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0')
export const SunIcon = icon(
  'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.500M8 13.500V15M1 8h1.500M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
)
export const MoonIcon = icon('M13.5 9.500A6 6 0 0 1 6.5 2.500a6 6 0 1 0 7 7Z')
export const CloseIcon = icon('m4 4 8 8M12 4l-8 8')
export const CopyIcon = icon('M5.5 5.500h8v8h-8ZM10.5 5.500v-3h-8v8h3')
export const PlusIcon = icon('M8 3v10M3 8h10')
export const SaveIcon = icon('M8 2.500v8M4.5 7 8 10.5 11.5 7M3 13.500h10')
export const BookmarkIcon = icon('M4.500 2.500h7v11L8 10.500l-3.500 3Z')
export const FilterIcon = icon('M2.5 3.500h11L9.5 8.500v4l-3 1v-5Z')

/** The sign of Mycel: threads that branch. */
export const Mark = (): JSX.Element => (
  <svg
    class="mark"
    viewBox="0 0 24 24"
    width="22"
    height="22"
    aria-hidden="true"
    fill="none"
    stroke="currentColor"
    stroke-width="1.7"
    stroke-linecap="round">
    <path d="M12 21v-7M12 14C8 13 5.5 11 5 7M12 14c4-1 6.5-3 7-7M12 14V5" />
    <circle cx="5" cy="5.5" r="1.9" fill="currentColor" stroke="none" />
    <circle cx="12" cy="3.5" r="1.9" fill="currentColor" stroke="none" />
    <circle cx="19" cy="5.5" r="1.9" fill="none" />
  </svg>
)
