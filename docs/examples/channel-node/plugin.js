// What a channel needs to be started by Holdgate, whatever it does: the
// handshake of go-plugin, its mutual TLS, and the service of channel.proto.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";
import selfsigned from "selfsigned";

const maxMessage = 4 << 20; // bytes, as Holdgate has it

// failure is an error of the channel's own: Holdgate tries again, unless it is
// permanent. Any other error means to it that the process is broken.
export function failure(text, permanent = false) {
  const { FAILED_PRECONDITION, ABORTED } = grpc.status;
  return Object.assign(new Error(text), { code: permanent ? FAILED_PRECONDITION : ABORTED, details: text });
}

// unary makes a method of a function that takes the request and returns the
// answer, or a promise of it.
export const unary = (f) => (call, done) =>
  Promise.resolve(call.request).then(f).then((r) => done(null, r ?? {}), (e) => done(e.code ? e : failure(e.message)));

// serve serves the methods to the Holdgate that started this process, until it
// ends.
export async function serve(proto, methods) {
  if (process.env.HOLDGATE_CHANNEL !== "c1f6f2a8d7b94a4f8e0c5d3b6a917e24") {
    console.error("This is a channel: Holdgate starts it, as plugins.NAME.command in its configuration says.");
    process.exit(1);
  }
  process.stdin.on("end", () => process.exit(0)).on("error", () => process.exit(0)).resume();

  const loaded = loader.loadSync(proto, { keepCase: true, longs: Number, enums: String, defaults: true });
  const server = new grpc.Server({ "grpc.max_receive_message_length": maxMessage, "grpc.max_send_message_length": maxMessage });
  server.addService(grpc.loadPackageDefinition(loaded).holdgate.channel.v1.Channel.service, methods);
  // go-plugin asks whether the process is well, and tells it to end.
  const empty = { requestStream: false, responseStream: false, requestSerialize: (b) => b, requestDeserialize: (b) => b, responseSerialize: (b) => b, responseDeserialize: (b) => b };
  server.addService({ Check: { ...empty, path: "/grpc.health.v1.Health/Check" } }, { Check: (_, done) => done(null, Buffer.from([8, 1])) }); // SERVING
  server.addService({ Shutdown: { ...empty, path: "/plugin.GRPCController/Shutdown" } }, {
    Shutdown: (_, done) => {
      done(null, Buffer.alloc(0));
      setTimeout(() => process.exit(0), 50); // after the answer is out
    },
  });

  // Each side trusts the one certificate that the other has made for itself.
  const own = await selfsigned.generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec", algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "keyUsage", digitalSignature: true, keyCertSign: true },
      { name: "extKeyUsage", serverAuth: true, clientAuth: true },
      { name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] },
    ],
  });
  const pair = { private_key: Buffer.from(own.private), cert_chain: Buffer.from(own.cert) };
  const credentials = grpc.ServerCredentials.createSsl(Buffer.from(process.env.PLUGIN_CLIENT_CERT ?? ""), [pair], true);
  const socket = join(process.env.PLUGIN_UNIX_SOCKET_DIR, "s" + randomBytes(8).toString("hex"));
  await new Promise((ok, no) => server.bindAsync("unix:" + socket, credentials, (e) => (e ? no(e) : ok())));
  const der = own.cert.replace(/-----[A-Z ]+-----|\s/g, "").replace(/=+$/, "");
  process.stdout.write(`1|1|unix|${socket}|grpc|${der}\n`); // core version, protocol version, network, address, protocol, certificate
}
