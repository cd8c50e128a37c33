package access

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// hash is a password's hash, as the users file has it.
type hash interface{ matches(password []byte) bool }

// What HashPassword costs: 19 MiB and two passes over them, which OWASP asks for
// at least. More would let a few logins at once fill a small container.
const (
	argonMemory  = 19 << 10 // KiB
	argonTime    = 2
	argonThreads = 1
	argonBytes   = 32
)

// What a users file may ask for, so that a line in it cannot stop the server.
const (
	maxBcryptCost  = 16
	maxArgonMemory = 1 << 20 // KiB
	maxArgonTime   = 32
	maxArgonBytes  = 128
)

// HashPassword returns an argon2id hash of a password for the users file.
func HashPassword(password []byte) (string, error) {
	if err := checkPassword(password); err != nil {
		return "", err
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	sum := argon2.IDKey(password, salt, argonTime, argonMemory, argonThreads, argonBytes)
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, argonMemory, argonTime, argonThreads, text(salt), text(sum)), nil
}

// maxPassword is the most bytes of a password that is looked at.
const maxPassword = 1024

func checkPassword(password []byte) error {
	switch {
	case len(password) == 0:
		return errors.New("the password is empty")
	case len(password) > maxPassword:
		return fmt.Errorf("the password is longer than %d bytes", maxPassword)
	}
	return nil
}

// errHash does not repeat the hash: errors are printed and logged.
var errHash = errors.New("the hash is neither bcrypt ($2y$...) nor argon2id ($argon2id$...): statesrv hash-password makes one")

func parseHash(text string) (hash, error) {
	switch {
	case strings.HasPrefix(text, "$2a$"), strings.HasPrefix(text, "$2b$"), strings.HasPrefix(text, "$2y$"):
		return parseBcrypt(text)
	case strings.HasPrefix(text, "$argon2id$"):
		return parseArgon(text)
	}
	return nil, errHash
}

type bcryptHash []byte

func parseBcrypt(text string) (hash, error) {
	const length = 60
	cost, err := bcrypt.Cost([]byte(text))
	switch {
	case err != nil || len(text) != length:
		return nil, errors.New("the bcrypt hash is damaged")
	case cost > maxBcryptCost:
		return nil, fmt.Errorf("the bcrypt hash has cost %d; at most %d is possible", cost, maxBcryptCost)
	}
	return bcryptHash(text), nil
}

func (h bcryptHash) matches(password []byte) bool {
	return bcrypt.CompareHashAndPassword(h, password) == nil
}

type argonHash struct {
	salt, sum    []byte
	time, memory uint32 // memory in KiB
	threads      uint8
}

// parseArgon reads the format of the reference implementation.
func parseArgon(text string) (hash, error) {
	damaged := errors.New("the argon2id hash is damaged")
	parts := strings.Split(text, "$")
	if len(parts) != 6 {
		return nil, damaged
	}
	if parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return nil, fmt.Errorf("the argon2id hash is not of version %d", argon2.Version)
	}
	var h argonHash
	var err error
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil {
		return nil, damaged
	}
	if h.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return nil, damaged
	}
	if h.sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil {
		return nil, damaged
	}
	return h, h.check()
}

func (h argonHash) check() error {
	switch {
	case h.threads == 0 || h.time == 0 || h.memory < 8*uint32(h.threads) || len(h.salt) < 8 || len(h.sum) < 16:
		return errors.New("the argon2id hash asks for too little")
	case h.memory > maxArgonMemory || h.time > maxArgonTime || len(h.salt) > maxArgonBytes || len(h.sum) > maxArgonBytes:
		return fmt.Errorf("the argon2id hash asks for too much: at most m=%d, t=%d and %d bytes are possible", maxArgonMemory, maxArgonTime, maxArgonBytes)
	}
	return nil
}

func (h argonHash) matches(password []byte) bool {
	sum := argon2.IDKey(password, h.salt, h.time, h.memory, h.threads, uint32(len(h.sum)))
	return subtle.ConstantTimeCompare(sum, h.sum) == 1
}
