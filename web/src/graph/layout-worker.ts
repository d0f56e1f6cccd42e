/** The worker in which layouts run, so that the page stays responsive. */

import { type Forces, settle } from './forces'

const noPause = () => null

self.onmessage = async ({ data }: MessageEvent<{ ticket: number; forces: Forces }>) => {
  const places = await settle(data.forces, noPause)
  self.postMessage({ ticket: data.ticket, places }, { transfer: [places.buffer] })
}
