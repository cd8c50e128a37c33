package kubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// The marks on a Secret.
const (
	keyAnnotation   = "statesrv.captf.io/key"
	writeAnnotation = "statesrv.captf.io/write" // the id of the write that made it
	partsAnnotation = "statesrv.captf.io/parts" // ID.COUNT of the Secrets with the value
	sizeAnnotation  = "statesrv.captf.io/size"  // bytes of the value, not compressed
	ownerLabel      = "app.kubernetes.io/managed-by"
	owner           = "statesrv"
	partLabel       = "statesrv.captf.io/part-of" // the record of a part
	writeLabel      = "statesrv.captf.io/write"   // the id of the write that made a part
	secretType      = "statesrv.captf.io/record"
)

// dirLabel is that of the directory at a depth; 0 is the top.
func dirLabel(depth int) string { return fmt.Sprintf("statesrv.captf.io/dir%d", depth) }

// digest names a text in this store's own prefix: 160 bits, since the names of states
// are chosen by clients.
func (s *Store) digest(what, text string) string {
	sum := sha256.Sum256([]byte(what + "\n" + s.prefix + "\n" + text))
	return hex.EncodeToString(sum[:20])
}

// nameOf returns the name of a key's Secret: a part for people, and a digest.
func (s *Store) nameOf(key string) string {
	const most = 120
	readable := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, key)
	readable = strings.Trim(readable[max(0, len(readable)-most):], "-")
	return strings.TrimSuffix("statesrv-"+readable, "-") + "-" + s.digest("key", key)
}

// labels are those of a record, which List selects by.
func (s *Store) labels(key string) map[string]string {
	labels := map[string]string{ownerLabel: owner}
	segments := strings.Split(key, "/")
	for depth := range segments {
		labels[dirLabel(depth)] = s.digest("dir", strings.Join(segments[:depth], "/"))
	}
	return labels
}

// inside selects what is below a directory.
func (s *Store) inside(dir string) string {
	depth := 0
	if dir != "" {
		depth = strings.Count(dir, "/") + 1
	}
	return dirLabel(depth) + "=" + s.digest("dir", dir)
}

// partsOf selects the parts of a record.
func (s *Store) partsOf(key string) string { return partLabel + "=" + s.digest("key", key) }
