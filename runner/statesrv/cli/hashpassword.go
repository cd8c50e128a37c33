package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/captf/captf-runner/runner/statesrv/access"
)

// hashPassword prints a hash, or with a name a whole line of a users file. The
// password is never an argument: other processes could see it.
func (a *App) hashPassword(_ context.Context, args []string) error {
	o := a.printing("hash-password")
	name := o.String("user", "", "print a line of a users file for this `name`")
	if _, err := o.parse(args, 0); err != nil {
		return err
	}
	if *name != "" {
		if err := access.CheckUserName(*name); err != nil {
			return usageError{err}
		}
	}
	password, err := a.readPassword()
	if err != nil {
		return err
	}
	hash, err := access.HashPassword(password)
	if err != nil {
		return err
	}
	if *name != "" {
		hash = *name + ":" + hash
	}
	return o.print(map[string]string{"line": hash}, func() { fmt.Fprintln(a.Out, hash) })
}

// readPassword asks twice on a terminal, and reads all of standard input without
// its last newline elsewhere.
func (a *App) readPassword() ([]byte, error) {
	if a.Terminal {
		return a.askPassword()
	}
	data, err := io.ReadAll(io.LimitReader(a.In, 1<<20))
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
	if bytes.ContainsAny(data, "\r\n\x00") {
		return nil, errors.New("the password has more than one line")
	}
	return data, nil
}

func (a *App) askPassword() ([]byte, error) {
	var answers [2][]byte
	for i, question := range []string{"Password: ", "The same again: "} {
		fmt.Fprint(a.Err, question)
		answer, err := a.ReadHidden()
		fmt.Fprintln(a.Err)
		if err != nil {
			return nil, err
		}
		answers[i] = answer
	}
	if !bytes.Equal(answers[0], answers[1]) {
		return nil, errors.New("the two passwords differ")
	}
	return answers[0], nil
}
