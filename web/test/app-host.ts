import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge'
Object.assign(window, { AppBridge, PostMessageTransport })
