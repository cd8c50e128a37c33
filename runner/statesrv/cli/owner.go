package cli

import (
	"context"
	"fmt"

	"github.com/captf/captf-runner/runner/statesrv"
)

// owned is a state in a directory of another user, before root changes it: what root
// writes there belongs to root, and the server that runs as that user cannot read it.
type owned struct {
	*local
	path string
	uid  uint32
}

// ownedError says that only the owner of a directory may change it.
func ownedError(path string, uid uint32) error {
	return fmt.Errorf("%s belongs to the user with ID %[2]d, whose server could not read what root writes there: "+
		"run this as that user, with sudo -u '#%[2]d'", path, uid)
}

func (o *owned) refuse() error { return ownedError(o.path, o.uid) }

func (o *owned) Lock(context.Context, statesrv.LockInfo) error { return o.refuse() }

func (o *owned) Unlock(context.Context, statesrv.LockInfo) (bool, error) { return false, o.refuse() }

func (o *owned) ForceUnlock(context.Context, statesrv.ForceUnlockRequest) (*statesrv.Lock, error) {
	return nil, o.refuse()
}

func (o *owned) Push(context.Context, statesrv.WriteRequest) (statesrv.Written, error) {
	return statesrv.Written{}, o.refuse()
}

func (o *owned) Restore(context.Context, statesrv.RestoreRequest) (statesrv.Version, error) {
	return statesrv.Version{}, o.refuse()
}
