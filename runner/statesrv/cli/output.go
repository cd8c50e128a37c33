package cli

import (
	"fmt"
	"io"
)

// output remembers that what was printed got lost.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil && err != nil {
		o.err = fmt.Errorf("the output is not complete: %w", err)
	}
	return n, err
}

// written returns the first error of printing.
func (a *App) written() error {
	if o, ok := a.Out.(*output); ok {
		return o.err
	}
	return nil
}
