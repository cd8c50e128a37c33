package chunks_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// TestReadWritten reads what both runtimes wrote through the kubernetes backend.
func TestReadWritten(t *testing.T) {
	eachRuntime(t, func(t *testing.T, c cluster, runtime tools.Runtime) {
		m := c.Apply(t, runtime, oneResource)
		set := c.gather(t)
		sum, err := set.Read(true)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.CheckLabels(); err != nil {
			t.Error(err)
		}
		pulled := m.Must(t, "state", "pull")
		wantSame(t, sum, pulled)
		if sum.Chunks != 1 || sum.Resources != 1 {
			t.Errorf("%d chunks and %d resources, want one of each", sum.Chunks, sum.Resources)
		}
	})
}

// wantSame compares a summary with the state that it is of.
func wantSame(t *testing.T, sum *state.Summary, doc string) {
	t.Helper()
	var want struct {
		Serial  uint64
		Lineage string
		Outputs map[string]struct{ Value json.RawMessage }
	}
	if err := json.Unmarshal([]byte(doc), &want); err != nil {
		t.Fatal(err)
	}
	if sum.Serial != want.Serial || sum.Lineage != want.Lineage || len(sum.Outputs) != len(want.Outputs) {
		t.Errorf("serial %d, lineage %s, %d outputs; want %d, %s, %d",
			sum.Serial, sum.Lineage, len(sum.Outputs), want.Serial, want.Lineage, len(want.Outputs))
	}
	for name, output := range want.Outputs {
		if !bytes.Equal(sum.Outputs[name].Value, output.Value) {
			t.Errorf("output %s differs", name)
		}
	}
}

// TestReadEncrypted has OpenTofu encrypt the state: serial and lineage are known, and nothing else.
func TestReadEncrypted(t *testing.T) {
	c := newCluster(t)
	m := c.Apply(t, tofu(t), oneResource, encryption)
	sum, err := c.gather(t).Read(true)
	if !errors.Is(err, state.Encrypted) {
		t.Fatalf("got %v, want %s", err, state.Encrypted)
	}
	pulled := m.Must(t, "state", "pull") // decrypted
	if len(sum.Outputs) != 0 {
		t.Errorf("outputs %v, want none", sum.Outputs)
	}
	sum.Outputs = nil
	var want struct {
		Serial  uint64
		Lineage string
	}
	if err := json.Unmarshal([]byte(pulled), &want); err != nil {
		t.Fatal(err)
	}
	if sum.Serial != want.Serial || sum.Lineage != want.Lineage {
		t.Errorf("serial %d of %s, want %d of %s", sum.Serial, sum.Lineage, want.Serial, want.Lineage)
	}
}

// encryption has OpenTofu encrypt states and plans.
const encryption = `TF_ENCRYPTION=key_provider "pbkdf2" "p" { passphrase = "correct-horse-battery-staple" }
method "aes_gcm" "m" { keys = key_provider.pbkdf2.p }
state { method = method.aes_gcm.m }
`

// TestReadChunks has states of Terraform in 1, 2 and 12 Secrets. The Terraform of these tests keeps every state in one
// Secret, so the last step of a newer one, the cutting, is done by the test.
func TestReadChunks(t *testing.T) {
	for _, n := range []int{1, 2, 12} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := newCluster(t)
			doc := stateOf(t, n)
			c.Put(t, statetest.Gzip(doc))
			sum, err := c.gather(t).Read(true)
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, sum, string(doc))
			if sum.Chunks != n {
				t.Errorf("%d chunks, want %d", sum.Chunks, n)
			}
		})
	}
}

// stateOf returns a state of Terraform that compresses to n chunks: a resource keeps its input twice.
func stateOf(t *testing.T, n int) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "random")
	random := make([]byte, (n*statetest.ChunkSize-statetest.ChunkSize/2)/2)
	_, _ = rand.Read(random)
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(random)), 0o600); err != nil {
		t.Fatal(err)
	}
	return statetest.State(t, terraform(t), fmt.Sprintf(`
resource "terraform_data" "big" { input = file(%q) }
output "length" { value = length(terraform_data.big.output) }
`, file))
}

// TestReadManyOutputs has 10,000 outputs in a state that a runtime wrote. It is pushed: a module with as many takes a
// runtime minutes.
func TestReadManyOutputs(t *testing.T) {
	eachRuntime(t, func(t *testing.T, c cluster, runtime tools.Runtime) {
		m := c.Apply(t, runtime, oneResource)
		var doc map[string]any
		if err := json.Unmarshal([]byte(m.Must(t, "state", "pull")), &doc); err != nil {
			t.Fatal(err)
		}
		outputs := map[string]any{}
		for i := range 10_000 {
			outputs[fmt.Sprintf("o%d", i)] = map[string]any{"value": fmt.Sprintf("v%d", i), "type": "string"}
		}
		doc["outputs"], doc["serial"] = outputs, 100
		pushed, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(m.Dir, "pushed"), pushed, 0o600); err != nil {
			t.Fatal(err)
		}
		m.Must(t, "state", "push", "pushed")
		sum, err := c.gather(t).Read(true)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, sum, m.Must(t, "state", "pull"))
		if len(sum.Outputs) != 10_000 {
			t.Errorf("%d outputs, want 10000", len(sum.Outputs))
		}
	})
}

// TestReadBigOutputs has outputs of 5 MiB.
func TestReadBigOutputs(t *testing.T) {
	eachRuntime(t, func(t *testing.T, c cluster, runtime tools.Runtime) {
		m := c.Apply(t, runtime, `
locals { five_kib = join("", [for i in range(5 * 64) : "0123456789abcdef"]) }
output "list" { value = [for i in range(1024) : "${i}${local.five_kib}"] }
output "text" { value = join("\n", [for i in range(1024) : local.five_kib]) }
`)
		sum, err := c.gather(t).Read(true)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, sum, m.Must(t, "state", "pull"))
		for name, output := range sum.Outputs {
			if len(output.Value) < 5<<20 {
				t.Errorf("output %s has %d bytes, want 5 MiB", name, len(output.Value))
			}
		}
	})
}

// TestReadRefuses damages a state that a runtime wrote, in every way.
func TestReadRefuses(t *testing.T) {
	doc := statetest.State(t, terraform(t), oneResource)
	small := statetest.Gzip(doc)
	third := len(small) / 3
	base := func(c cluster) string { return naming.StateSecret(c.Suffix, 0) }
	part := func(c cluster, n int) string { return naming.StateSecret(c.Suffix, n) }
	whole := func(text []byte) func(*testing.T, cluster) {
		return func(t *testing.T, c cluster) { c.Put(t, statetest.Gzip(text)) }
	}
	withVersion := func(v string) []byte { return bytes.Replace(doc, []byte(`"version": 4,`), []byte(v), 1) }
	tests := map[string]struct {
		make    func(t *testing.T, c cluster)
		applied bool
		want    state.Reason
		secret  func(c cluster) string // that the error names
		says    string
	}{
		"none":               {make: func(*testing.T, cluster) {}, want: state.NotFound},
		"none after applies": {make: func(*testing.T, cluster) {}, applied: true, want: state.Lost},
		"gap": {
			make: func(t *testing.T, c cluster) {
				c.PutChunk(t, base(c), small[:third])
				c.PutChunk(t, part(c, 2), small[third:])
			},
			want: state.Inconsistent, secret: func(c cluster) string { return part(c, 1) },
		},
		"last chunk missing": {
			make: func(t *testing.T, c cluster) {
				c.Put(t, statetest.Gzip(stateOf(t, 3)))
				if err := c.Secrets.Delete(t.Context(), part(c, 2), metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			want: state.Inconsistent, secret: func(c cluster) string { return part(c, 2) }, says: "-part-1: bring the missing ones back",
		},
		"no base": {
			make: func(t *testing.T, c cluster) { c.PutChunk(t, part(c, 1), small) },
			want: state.Inconsistent, secret: base,
		},
		"duplicate": {
			make: func(t *testing.T, c cluster) {
				c.PutChunk(t, base(c), small)
				c.PutChunk(t, base(c)+"-part-0", small)
			},
			want: state.Inconsistent, secret: func(c cluster) string { return base(c) + "-part-0" },
		},
		"somebody else's with the labels": {
			make: func(t *testing.T, c cluster) {
				c.PutChunk(t, base(c), small)
				c.PutChunk(t, "copy-of-a-state", small)
			},
			want: state.Inconsistent, secret: func(cluster) string { return "copy-of-a-state" },
		},
		"no key": {
			make: func(t *testing.T, c cluster) { c.PutChunk(t, base(c), nil) },
			want: state.Inconsistent, secret: base,
		},
		"empty value":    {make: func(t *testing.T, c cluster) { c.PutChunk(t, base(c), []byte{}) }, want: state.Corrupt, says: "not gzip"},
		"cut off":        {make: func(t *testing.T, c cluster) { c.PutChunk(t, base(c), small[:third]) }, want: state.Corrupt, says: "unexpected EOF"},
		"gzip bomb":      {make: func(t *testing.T, c cluster) { c.PutChunk(t, base(c), bomb(t)) }, want: state.Corrupt, says: "more than 67108864 bytes"},
		"64 MiB and 1":   {make: whole(padded(doc, state.MaxSize+1)), want: state.Corrupt, says: "more than 67108864 bytes"},
		"version 3":      {make: whole(withVersion(`"version": 3,`)), want: state.Corrupt, says: "version 3"},
		"no version":     {make: whole(withVersion("")), want: state.Corrupt, says: "no version"},
		"not JSON":       {make: whole([]byte("resource {}\n")), want: state.Corrupt, says: "unexpected 'r'"},
		"more than 32":   {make: func(t *testing.T, c cluster) { c.Put(t, make([]byte, 32*statetest.ChunkSize+1)) }, want: state.Corrupt, says: "more than 32 Secrets"},
		"exactly 64 MiB": {make: whole(padded(doc, state.MaxSize))},
		"shrunk": {make: func(t *testing.T, c cluster) {
			c.Put(t, statetest.Gzip(padded(randomDocument(), 3<<20)))
			c.Change(t, 0, func(s *corev1.Secret) { s.Data[state.DataKey] = small }) // killed before it removed the others
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			tt.make(t, c)
			_, err := c.gather(t).Read(tt.applied)
			var secret string
			if tt.secret != nil {
				secret = tt.secret(c)
			}
			wantReason(t, err, tt.want, secret)
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v does not say %q", err, tt.says)
			}
		})
	}
}

// wantReason checks an error's reason, none if it is empty, and the Secret that it names.
func wantReason(t *testing.T, err error, want state.Reason, secret string) {
	t.Helper()
	var e *state.Error
	switch {
	case want == "" && err != nil:
		t.Errorf("got error %v, want none", err)
	case want == "":
	case !errors.As(err, &e):
		t.Errorf("got error %v, want %s", err, want)
	case e.Reason != want || e.Secret != secret:
		t.Errorf("got %s, Secret %q (%v); want %s, Secret %q", e.Reason, e.Secret, err, want, secret)
	}
}

// padded returns a state with so much white space behind it that it has n bytes.
func padded(doc []byte, n int) []byte {
	return append(bytes.Clone(doc), bytes.Repeat([]byte("\n"), n-len(doc))...)
}

// randomDocument has 2 MiB that do not compress to less than 1 MiB.
func randomDocument() []byte {
	random := make([]byte, 3<<19)
	_, _ = rand.Read(random)
	return fmt.Appendf(nil, `{"version":4,"serial":1,"lineage":"%x"}`, random)[:1<<21]
}

// bomb is less than a Secret's worth of gzip that decompresses to almost a gibibyte: the same block of spaces again and
// again.
func bomb(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	write := func() (end int) {
		if _, err := z.Write(spaces); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
		return b.Len()
	}
	first, second := write(), write()
	b.Write(bytes.Repeat(bytes.Clone(b.Bytes()[first:second]), 900))
	return b.Bytes()
}

// expires loses the pages of so many lists before their end. A fake, because a server does so only after minutes.
type expires struct {
	chunks.Secrets
	lists int
}

func (e *expires) List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error) {
	if opts.Continue != "" && e.lists > 0 {
		e.lists--
		return nil, apierrors.NewResourceExpired("the pages are gone")
	}
	return e.Secrets.List(ctx, opts)
}

// TestGatherExpired starts a list over whose pages are gone, and gives up after a few times.
func TestGatherExpired(t *testing.T) {
	c := newCluster(t)
	c.putSplit(t, empty(t), 12)
	c.api.Secrets = &expires{c.Secrets, 3}
	if sum, err := c.gather(t).Read(true); err != nil || sum.Chunks != 12 {
		t.Errorf("read %+v, %v, want 12 chunks", sum, err)
	}
	c.api.Secrets = &expires{c.Secrets, 4}
	if _, err := c.api.Gather(t.Context(), c.Object); !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v, want that it gives up", err)
	}
}
