package sdk

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/holdgate/holdgate/plugins/sdk/channelv1"
)

//go:generate protoc -I proto --go_out=channelv1 --go_opt=paths=source_relative --go-grpc_out=channelv1 --go-grpc_opt=paths=source_relative proto/channel.proto

// MaxMessage is the size in bytes over which a message is refused, both ways.
const MaxMessage = 4 << 20

// protocolVersion is that of channel.proto.
const protocolVersion = 1

// pluginName is the one service that a channel's process has.
const pluginName = "channel"

// Handshake is what tells a channel's process that Holdgate has started it. It
// is no secret.
func Handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		ProtocolVersion:  protocolVersion,
		MagicCookieKey:   "HOLDGATE_CHANNEL",
		MagicCookieValue: "c1f6f2a8d7b94a4f8e0c5d3b6a917e24",
	}
}

// Plugins are the versions of the protocol that are spoken here, with c as
// what is served. Holdgate's own side passes nil.
func Plugins(c Channel) map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{protocolVersion: {pluginName: &grpcPlugin{channel: c}}}
}

// Serve serves the channel to the Holdgate that started this process, and
// returns when that has ended it. It is all that a main does. A process that
// was started by anybody else says so and exits with 1.
//
// What the process prints to os.Stdout and os.Stderr from then on is dropped:
// see [Logger].
func Serve(c Channel) {
	harden()
	if h := Handshake(); os.Getenv(h.MagicCookieKey) == h.MagicCookieValue {
		go exitWith(os.Stdin)
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  Handshake(),
		VersionedPlugins: Plugins(c),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr, DisableTime: true}),
	})
}

// exitWith ends the process, and what it has started, when in ends: Holdgate holds the
// other end, and lets go of it only by ending itself.
func exitWith(in io.Reader) {
	_, _ = io.Copy(io.Discard, in)
	endStarted()
	os.Exit(0)
}

// Logger logs to Holdgate's own log, by way of standard error. It must be
// called before [Serve]. Secrets don't belong there.
func Logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Register adds the channel to a gRPC server, as [Serve] does.
func Register(s grpc.ServiceRegistrar, c Channel) {
	channelv1.RegisterChannelServer(s, &server{channel: c})
}

// grpcPlugin is both sides of a channel as go-plugin sees it.
type grpcPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	channel Channel
}

var _ goplugin.GRPCPlugin = (*grpcPlugin)(nil)

// GRPCServer implements [goplugin.GRPCPlugin].
func (p *grpcPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	Register(s, p.channel)
	return nil
}

// GRPCClient implements [goplugin.GRPCPlugin].
func (p *grpcPlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewRemote(conn), nil
}
