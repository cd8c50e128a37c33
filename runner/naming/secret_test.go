package naming

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The hashes below are those that sha256sum prints, so that a change of the
// scheme is seen even if both directions change together.
func TestNames(t *testing.T) {
	o := Object{Kind: Cluster, Namespace: "default", Name: "sbx-390"}
	suffix := Suffix(o)
	got := map[string]string{
		"suffix":       suffix,
		"base":         StateSecret(suffix, 0),
		"part":         StateSecret(suffix, 12),
		"lock":         LockLease(suffix),
		"run":          RunLease(suffix),
		"cluster":      ClusterLease("default", "sbx"),
		"rescue":       RescueSecret(suffix, 7, 0),
		"rescue part":  RescueSecret(suffix, 7, 2),
		"backup":       BackupSecret(suffix, 18446744073709551615, 0),
		"backup part":  BackupSecret(suffix, 8, 1),
		"other rescue": OtherRescueSecret(suffix, 17, "0123456789", 2),
		"other backup": OtherBackupSecret(suffix, 18, "fedcba9876", 0),
		"machine":      Suffix(Object{Kind: Machine, Namespace: "default", Name: "sbx-390"}),
		"machine pool": Suffix(Object{Kind: MachinePool, Namespace: "default", Name: "sbx-390"}),
	}
	want := map[string]string{
		"suffix":       "c4585f32c6c3783e-c",
		"base":         "tfstate-default-c4585f32c6c3783e-c",
		"part":         "tfstate-default-c4585f32c6c3783e-c-part-12",
		"lock":         "lock-tfstate-default-c4585f32c6c3783e-c",
		"run":          "captf-run-c4585f32c6c3783e-c",
		"cluster":      "captf-cluster-186b85908488a09b",
		"rescue":       "captf-rescue-c4585f32c6c3783e-c-7",
		"rescue part":  "captf-rescue-c4585f32c6c3783e-c-7-part-2",
		"backup":       "captf-state-backup-c4585f32c6c3783e-c-18446744073709551615",
		"backup part":  "captf-state-backup-c4585f32c6c3783e-c-8-part-1",
		"other rescue": "captf-rescue-c4585f32c6c3783e-c-17-x01234567-part-2",
		"other backup": "captf-state-backup-c4585f32c6c3783e-c-18-xfedcba98",
		"machine":      "1ae5aee309873dd4-m",
		"machine pool": "26caf2047bee447f-mp",
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s = %q, want %q", name, got[name], w)
		}
	}
}

// The backend takes a number behind the last hyphen for a chunk index.
func TestSuffixNeverEndsInDigits(t *testing.T) {
	digits := regexp.MustCompile(`-[0-9]+$`)
	for _, k := range Kinds() {
		for _, name := range []string{"sbx-390", "1", "a-0"} {
			if s := Suffix(Object{Kind: k, Namespace: "n", Name: name}); digits.MatchString(s) {
				t.Errorf("Suffix(%s, %s) = %q ends in a number", k, name, s)
			}
		}
	}
}

func TestPartsRefused(t *testing.T) {
	const s = "0123456789abcdef-c"
	for _, name := range []string{
		"", "tfstate-default-", "tfstate-default-" + s + "-", "tfstate-default-" + s + "-1",
		"tfstate-default-" + s + "-part-", "tfstate-default-" + s + "-part-0", "tfstate-default-" + s + "-part-01",
		"tfstate-default-" + s + "-part-+1", "tfstate-default-" + s + "-part--1", "tfstate-default-" + s + "-part-1x",
		"tfstate-default-" + s + "-part-99999999999999999999", "tfstate-prod-" + s, "tfstate-default-1" + s,
		"tfstate-default-" + s + "-part-1-part-2",
	} {
		if part, ok := StatePart(s, name); ok {
			t.Errorf("StatePart(%q) = %d, want it refused", name, part)
		}
	}
	for _, name := range []string{
		"", "captf-rescue-" + s, "captf-rescue-" + s + "-", "captf-rescue-" + s + "--1", "captf-rescue-" + s + "-01",
		"captf-rescue-" + s + "-1-part-0", "captf-rescue-" + s + "-1-2",
		"captf-rescue-" + s + "-18446744073709551616", "captf-rescue-" + s + "-x01234567",
		"captf-rescue-" + s + "-1-x0123456", "captf-rescue-" + s + "-1-x0123456g", "captf-rescue-" + s + "-1-x012345678",
		"captf-rescue-" + s + "-1-part-1-x01234567", "captf-rescue-" + s + "-1-x01234567-x01234567",
	} {
		if serial, part, ok := RescuePart(s, name); ok {
			t.Errorf("RescuePart(%q) = %d, %d, want it refused", name, serial, part)
		}
		name = strings.Replace(name, "captf-rescue-", "captf-state-backup-", 1)
		if serial, part, ok := BackupPart(s, name); ok {
			t.Errorf("BackupPart(%q) = %d, %d, want it refused", name, serial, part)
		}
	}
}

// Whatever name a parser accepts is the one name that is made of its answer,
// and every name that is made is accepted.
func FuzzChunkNames(f *testing.F) {
	const s = "0123456789abcdef-mp"
	f.Add("tfstate-default-"+s, uint64(0), 0)
	f.Add("tfstate-default-"+s+"-part-1", uint64(1), 31)
	f.Add("tfstate-default-"+s+"-part-01", uint64(18446744073709551615), 1)
	f.Add("captf-rescue-"+s+"-7-part-2", uint64(7), 2)
	f.Add("captf-state-backup-"+s+"-+7", uint64(10), 10)
	f.Add("captf-state-backup-"+s+"-7-x01234567-part-3", uint64(10), 10)
	f.Add("captf-rescue-"+s+"-7-part-3-x01234567", uint64(10), 10)
	f.Fuzz(func(t *testing.T, name string, serial uint64, part int) {
		if p, ok := StatePart(s, name); ok && StateSecret(s, p) != name {
			t.Errorf("StatePart(%q) = %d, whose name is %q", name, p, StateSecret(s, p))
		}
		if n, p, ok := RescuePart(s, name); ok {
			mustBeMade(t, name, RescueSecret(s, n, p), func(digest string) string { return OtherRescueSecret(s, n, digest, p) })
		}
		if n, p, ok := BackupPart(s, name); ok {
			mustBeMade(t, name, BackupSecret(s, n, p), func(digest string) string { return OtherBackupSecret(s, n, digest, p) })
		}
		if part < 0 {
			return
		}
		if p, ok := StatePart(s, StateSecret(s, part)); !ok || p != part {
			t.Errorf("StatePart of part %d = %d, %v", part, p, ok)
		}
		if n, p, ok := RescuePart(s, RescueSecret(s, serial, part)); !ok || n != serial || p != part {
			t.Errorf("RescuePart of %d part %d = %d, %d, %v", serial, part, n, p, ok)
		}
		if n, p, ok := BackupPart(s, BackupSecret(s, serial, part)); !ok || n != serial || p != part {
			t.Errorf("BackupPart of %d part %d = %d, %d, %v", serial, part, n, p, ok)
		}
		const digest = "0123456789abcdef"
		if n, p, ok := RescuePart(s, OtherRescueSecret(s, serial, digest, part)); !ok || n != serial || p != part {
			t.Errorf("RescuePart of another state's %d part %d = %d, %d, %v", serial, part, n, p, ok)
		}
		if n, p, ok := BackupPart(s, OtherBackupSecret(s, serial, digest, part)); !ok || n != serial || p != part {
			t.Errorf("BackupPart of another state's %d part %d = %d, %d, %v", serial, part, n, p, ok)
		}
	})
}

// mustBeMade wants a name that is read to be one that is made, of the serial and the part that were read, and of any
// digest.
func mustBeMade(t *testing.T, name, plain string, other func(digest string) string) {
	t.Helper()
	made := []string{plain}
	if i := strings.LastIndex(name, digestInfix); i >= 0 && len(name) >= i+len(digestInfix)+digestLen {
		made = append(made, other(name[i+len(digestInfix):][:digestLen]))
	}
	if !slices.Contains(made, name) {
		t.Errorf("%q was read as one of %q", name, made)
	}
}
