package runner

import (
	"context"
	"log/slog"
	"slices"

	"github.com/captf/captf-runner/runner/redact"
)

// redacting is a log handler that lets no secret through, whatever is logged.
type redacting struct {
	slog.Handler
	redact *redact.Redactor
}

func (h redacting) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.redact.String(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.clean(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (h redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.clean(a)
	}
	return redacting{h.Handler.WithAttrs(clean), h.redact}
}

func (h redacting) WithGroup(name string) slog.Handler {
	return redacting{h.Handler.WithGroup(name), h.redact}
}

// clean makes the attribute a text, as it will be printed.
func (h redacting) clean(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		return slog.String(a.Key, h.redact.String(value.String()))
	}
	group := slices.Clone(value.Group())
	for i, member := range group {
		group[i] = h.clean(member)
	}
	return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
}

// warnings is a log handler for what matters only when something is wrong.
type warnings struct{ slog.Handler }

func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}

func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }
