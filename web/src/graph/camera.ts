/** The part of the plane that is shown: its centre and its zoom. */

export interface Camera {
  x: number
  y: number
  zoom: number
}

export interface Frame {
  width: number
  height: number
}

export const ZOOM_MIN = 0.02
export const ZOOM_MAX = 6

export const clampZoom = (zoom: number): number => Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, zoom))

export function toScreen(camera: Camera, frame: Frame, x: number, y: number): [number, number] {
  return [(x - camera.x) * camera.zoom + frame.width / 2, (y - camera.y) * camera.zoom + frame.height / 2]
}

export function toPlane(camera: Camera, frame: Frame, x: number, y: number): [number, number] {
  return [(x - frame.width / 2) / camera.zoom + camera.x, (y - frame.height / 2) / camera.zoom + camera.y]
}

/** The factor by which nodes grow with the zoom: more slowly than the distances between them. */
export const nodeScale = (zoom: number): number => Math.min(1.7, Math.max(0.55, zoom ** 0.4))

interface Room {
  left: number
  right: number
  top: number
  bottom: number
}

/** Room for labels at the right, and for the legend at the left where the frame is wide. */
const roomOf = ({ width }: Frame): Room => ({ left: width > 820 ? 190 : 40, right: width > 500 ? 110 : 70, top: 40, bottom: 36 })

/** The camera that shows all of the points, each with its reach, and room for labels at the edges. */
export function fit(
  points: Iterable<{ x: number; y: number; reach?: number }>,
  frame: Frame,
  room: Room = roomOf(frame),
  zoomMax = 1.5,
): Camera {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity]
  for (const { x, y, reach = 0 } of points) {
    left = Math.min(left, x - reach)
    right = Math.max(right, x + reach)
    top = Math.min(top, y - reach)
    bottom = Math.max(bottom, y + reach)
  }
  if (left === Infinity) return { x: 0, y: 0, zoom: 1 }
  const width = Math.max(40, frame.width - room.left - room.right)
  const height = Math.max(40, frame.height - room.top - room.bottom)
  const zoom = clampZoom(Math.min(zoomMax, width / Math.max(1, right - left), height / Math.max(1, bottom - top)))
  return {
    x: (left + right) / 2 + (room.right - room.left) / 2 / zoom,
    y: (top + bottom) / 2 + (room.bottom - room.top) / 2 / zoom,
    zoom,
  }
}

/** The camera after a zoom by a factor that keeps the point under the pointer in its place. */
export function zoomAt(camera: Camera, frame: Frame, x: number, y: number, factor: number): Camera {
  const zoom = clampZoom(camera.zoom * factor)
  const [px, py] = toPlane(camera, frame, x, y)
  return { x: px - (x - frame.width / 2) / zoom, y: py - (y - frame.height / 2) / zoom, zoom }
}
