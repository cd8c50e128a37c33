package statesrv

import "net/http"

// mayWrite is the rule that every write and delete passes: the lock ID is a
// capability. id is "" when the request brings none.
func mayWrite(held *Lock, id string, requireLock bool) error {
	switch {
	case held == nil && id != "":
		return conflict("lock %q is not held any more: it was released or force-unlocked while you were working; "+
			"pull the state, compare it with yours, then push", clip(id))
	case held == nil && requireLock:
		return &Refusal{Status: http.StatusPreconditionRequired,
			Message: "this server takes writes only under a lock: lock the state and send the lock's ID (?ID=, --id)"}
	case held == nil:
		return nil
	case id == "":
		return (&Refusal{Status: http.StatusLocked,
			Message: "the state is locked (" + held.String() + ") and the request brings no lock ID (?ID=, --id)"}).heldBy(held)
	case id != held.Info.ID:
		return conflict("the state is locked by another: %s", held).heldBy(held)
	}
	return nil
}

// follows decides whether a document may follow the current version, which is nil
// for the first write. unchanged means that it is the current version.
func follows(current *Version, doc Document, digest string) (unchanged bool, err error) {
	switch {
	case current == nil:
		return false, nil
	case current.Digest == digest:
		return true, nil
	case current.Lineage == "" || doc.Lineage == "":
		return false, nil // an envelope that shows no order
	case doc.Lineage != current.Lineage:
		return false, conflict("lineage %q is not that of the stored state, %q: this is another state", doc.Lineage, current.Lineage)
	case doc.Serial < current.Serial:
		return false, conflict("serial %d is older than the stored serial %d: the write is built on an old read", doc.Serial, current.Serial)
	case doc.Serial == current.Serial:
		return false, conflict("serial %d is stored already with other content: another write came first", doc.Serial)
	}
	return false, nil
}

// mayUnlock decides whether a caller that shows id may release the held lock. An
// empty id proves nothing.
func mayUnlock(held *Lock, id string, allowEmpty bool) error {
	switch {
	case id == held.Info.ID:
		return nil
	case id != "":
		return conflict("the lock to release is %q, but the state has %s", clip(id), held).heldBy(held)
	case allowEmpty:
		return nil
	}
	return conflict("the request to unlock has no lock ID, so it proves nothing (Terraform's force-unlock sends none): "+
		"use statesrv force-unlock, or add ?ID= to the unlock address; the state has %s", held).heldBy(held)
}
