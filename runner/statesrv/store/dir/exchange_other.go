//go:build !linux

package dir

func (place) exchange(_, _ string) error { return errNoExchange }
