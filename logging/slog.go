package logging

import (
	"context"
	"log/slog"
	"slices"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// Slog returns a slog logger that writes to a go-kit logger.
func Slog(logger log.Logger) *slog.Logger { return slog.New(&handler{logger: logger}) }

// handler is a slog.Handler over a go-kit logger, which filters levels itself.
type handler struct {
	logger log.Logger
	// prefix names the groups that are open, each with a dot behind.
	prefix string
	// attributes are those of With, as go-kit's keys and values.
	attributes []any
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	keyvals := append([]any{"msg", r.Message}, h.attributes...)
	r.Attrs(func(a slog.Attr) bool {
		keyvals = appendAttribute(keyvals, h.prefix, a)
		return true
	})
	return leveled(h.logger, r.Level).Log(keyvals...)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	with := *h
	with.attributes = slices.Clone(h.attributes)
	for _, a := range attributes {
		with.attributes = appendAttribute(with.attributes, h.prefix, a)
	}
	return &with
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.prefix += name + "."
	return &with
}

func appendAttribute(keyvals []any, prefix string, a slog.Attr) []any {
	value := a.Value.Resolve()
	switch {
	case a.Equal(slog.Attr{}):
		return keyvals
	case value.Kind() == slog.KindGroup:
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, below := range value.Group() {
			keyvals = appendAttribute(keyvals, prefix, below)
		}
		return keyvals
	default:
		return append(keyvals, prefix+a.Key, value.Any())
	}
}

func leveled(logger log.Logger, l slog.Level) log.Logger {
	switch {
	case l < slog.LevelInfo:
		return level.Debug(logger)
	case l < slog.LevelWarn:
		return level.Info(logger)
	case l < slog.LevelError:
		return level.Warn(logger)
	default:
		return level.Error(logger)
	}
}
