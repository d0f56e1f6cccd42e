/** Pictures of the shown graph: SVG and PNG. */

import { type Frame, fit } from './camera'
import { draw, type Picture } from './drawing'
import { CanvasPen } from './pen'
import { reaches } from './stage'
import { SvgPen } from './svg-pen'

const ROOM = { left: 50, right: 110, top: 36, bottom: 36 }

/** The picture framed around everything that it shows, without a focus. */
function whole(picture: Picture, frame: Frame): Picture {
  const focus = { ...picture.focus, hovered: null, pulses: new Map<string, number>() }
  return { ...picture, frame, camera: fit(reaches(picture.scene), frame, ROOM), focus, covered: null }
}

export function svgOf(picture: Picture, title: string, frame: Frame = picture.frame): string {
  const pen = new SvgPen()
  draw(pen, whole(picture, frame))
  return pen.document(frame.width, frame.height, picture.palette.ground, title)
}

export function pngOf(picture: Picture, frame: Frame = picture.frame, ratio = 2): Promise<Blob> {
  const canvas = document.createElement('canvas')
  canvas.width = frame.width * ratio
  canvas.height = frame.height * ratio
  const context = canvas.getContext('2d')!
  context.scale(ratio, ratio)
  context.fillStyle = picture.palette.ground
  context.fillRect(0, 0, frame.width, frame.height)
  draw(new CanvasPen(context), whole(picture, frame))
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The browser made no picture.'))), 'image/png'),
  )
}

/** Offers a file to the reader. */
export function download(name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
