package cli

import (
	"io/fs"
	"os"
)

// warnOpenFiles tells of files that other users of the machine may change, or that
// have secrets and that they may read.
func (s *server) warnOpenFiles() {
	for _, f := range []struct {
		path   string
		secret bool
	}{{s.opts.users, true}, {s.opts.key, true}, {s.opts.cert, false}, {s.opts.clientCA, false}} {
		if f.path == "" {
			continue
		}
		info, err := os.Stat(f.path)
		if err != nil {
			continue // it was read a moment ago, and is read again soon
		}
		if found := openTo(info.Mode(), f.secret); found != "" {
			s.log.Warn(found+": chmod o-rwx, and give it to the server's user or group", "file", f.path, "mode", info.Mode().Perm().String())
		}
	}
}

// openTo says what every user of the machine may do to a file, "" for nothing wrong.
func openTo(mode fs.FileMode, secret bool) string {
	switch {
	case mode&0o002 != 0:
		return "every user of this machine can change this file, and so who may do what here"
	case mode&0o004 != 0 && secret:
		return "every user of this machine can read this file, which has secrets"
	}
	return ""
}
