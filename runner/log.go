package runner

import (
	"context"
	"log/slog"

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
		clean.AddAttrs(slog.String(a.Key, h.redact.String(a.Value.String())))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (h redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = slog.String(a.Key, h.redact.String(a.Value.String()))
	}
	return redacting{h.Handler.WithAttrs(clean), h.redact}
}

func (h redacting) WithGroup(name string) slog.Handler {
	return redacting{h.Handler.WithGroup(name), h.redact}
}
