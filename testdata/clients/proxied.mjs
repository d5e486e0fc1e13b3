// Options that send an SDK's requests through HTTPS_PROXY, which node's own
// fetch does not heed.
import { ProxyAgent, fetch } from "undici";

export function proxied() {
  const proxy = process.env.HTTPS_PROXY;
  if (!proxy) return {};
  const dispatcher = new ProxyAgent({ uri: proxy, proxyTunnel: true });
  return { fetch, fetchOptions: { dispatcher } };
}
