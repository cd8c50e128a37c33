package state

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testdata holds states that OpenTofu 1.12.6 and Terraform 1.5.7 wrote.
func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// split cuts data into n chunks, as Terraform does with a big state.
func split(data []byte, n int) [][]byte {
	var chunks [][]byte
	for i := range n {
		chunks = append(chunks, data[len(data)*i/n:len(data)*(i+1)/n])
	}
	return chunks
}

func TestReadRealStates(t *testing.T) {
	tests := map[string]Summary{
		"tofu.json":      {Serial: 1, Lineage: "15b5ea21-c197-a2bd-e4b8-7fe4461816e0", TerraformVersion: "1.12.6"},
		"terraform.json": {Serial: 8, Lineage: "9029a7ce-a577-f0fa-b032-d8207df36662", TerraformVersion: "1.5.7"},
	}
	for file, want := range tests {
		for _, n := range []int{1, 2, 12} {
			t.Run(fmt.Sprintf("%s in %d", file, n), func(t *testing.T) {
				doc := testdata(t, file)
				s := source(split(gz(doc), n)...)
				s.Chunks[0].Annotations = map[string]string{AnnotationInputsHash: "h2:0"}
				got, err := s.Read()
				if err != nil {
					t.Fatal(err)
				}
				want.Resources = 4 // one, counted, each, module.sub's
				want.Size, want.CompressedSize, want.Chunks = int64(len(doc)), int64(len(gz(doc))), n
				want.InputsHash = "h2:0"
				want.Outputs = got.Outputs
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				checkOutputs(t, got.Outputs)
			})
		}
	}
}

func checkOutputs(t *testing.T, got map[string]Output) {
	t.Helper()
	want := map[string]Output{
		"empty":  {Value: []byte(`[]`), Type: []byte(`["tuple",[]]`)},
		"number": {Value: []byte(`12345678901234567890`), Type: []byte(`"number"`)},
		"object": {
			Value: []byte(`{"list":[1,2.5,true,null],"name":"a","text":"quote \" and \\ and ünïcode \u003c\u0026\u003e \u2028"}`),
			Type:  []byte(`["object",{"list":["tuple",["number","number","bool","dynamic"]],"name":"string","text":"string"}]`),
		},
		"secret": {Value: []byte(`"hidden-value"`), Type: []byte(`"string"`), Sensitive: true},
		"text":   {Value: []byte(`"quote \" and \\ and ünïcode \u003c\u0026\u003e \u2028"`), Type: []byte(`"string"`)},
	}
	compact := cmp.Transformer("compact", func(m json.RawMessage) string {
		var b bytes.Buffer
		if err := json.Compact(&b, m); err != nil {
			return err.Error()
		}
		return b.String()
	})
	if diff := cmp.Diff(want, got, compact); diff != "" {
		t.Errorf("outputs (-want +got)\n%s", diff)
	}
}

func TestReadEncrypted(t *testing.T) {
	got, err := source(gz(testdata(t, "tofu-encrypted.json"))).Read()
	wantReason(t, err, Encrypted, "")
	want := &Summary{Serial: 1, Lineage: "90b72d96-2232-3311-b898-f6a8a2be823d"}
	if got != nil {
		want.Size, want.CompressedSize, want.Chunks = got.Size, got.CompressedSize, 1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Whatever else such a document holds, its outputs are not shown.
func TestReadEncryptedFirst(t *testing.T) {
	doc := `{"version":3,"serial":7,"outputs":{"a":{"value":1}},"resources":[{"mode":"managed"}],"encryption_version":"v0"}`
	got, err := ReadJSON(strings.NewReader(doc))
	wantReason(t, err, Encrypted, "")
	if got.Serial != 7 || got.Outputs != nil || got.Resources != 0 {
		t.Errorf("got %+v", got)
	}
}

// A state that shrank leaves the last chunk of its former self behind.
func TestReadShrunk(t *testing.T) {
	small := gz(testdata(t, "tofu.json"))
	old := split(gz(bigState(100<<10)), 2)
	got, err := source(small, old[1]).Read()
	if err != nil {
		t.Fatal(err)
	}
	if got.Chunks != 2 || got.CompressedSize != int64(len(small)) || got.Lineage != "15b5ea21-c197-a2bd-e4b8-7fe4461816e0" {
		t.Errorf("got %+v, want the small state of %d bytes", got, len(small))
	}
	// Not even if it is a whole gzip member.
	if _, err := source(small, gz([]byte("more"))).Read(); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	good := gz(testdata(t, "tofu.json"))
	flipped := bytes.Clone(good)
	flipped[len(flipped)-5] ^= 1 // in the checksum
	tests := map[string]struct {
		data [][]byte
		want string // part of the error
	}{
		"empty":           {[][]byte{{}}, "not gzip"},
		"not gzip":        {[][]byte{[]byte(`{"version":4}`)}, "not gzip"},
		"truncated":       {[][]byte{good[:len(good)/2]}, "gunzip: unexpected EOF"},
		"no last chunk":   {split(good, 3)[:2], "there are " + base + ", " + base + "-part-1: either " + base + "-part-1 is cut off at"},
		"checksum":        {[][]byte{flipped}, "gunzip: gzip: invalid checksum"},
		"nothing in it":   {[][]byte{gz(nil)}, "ends in the middle, at byte 0"},
		"not JSON":        {[][]byte{gz([]byte("# HCL"))}, `unexpected '#' at byte 0`},
		"list":            {[][]byte{gz([]byte("[]"))}, `it is not the JSON of a state: unexpected '[' at byte 0`},
		"null":            {[][]byte{gz([]byte("null"))}, `unexpected 'n' at byte 0`},
		"two documents":   {[][]byte{gz([]byte(`{"version":4}{}`))}, `unexpected '{' at byte 13`},
		"NUL behind":      {[][]byte{gz([]byte("{\"version\":4}\x00"))}, `unexpected '\x00' at byte 13`},
		"no version":      {[][]byte{gz([]byte("{}"))}, "it has no version"},
		"version null":    {[][]byte{gz([]byte(`{"version":null}`))}, "it has no version"},
		"version 3":       {[][]byte{gz([]byte(`{"version":3}`))}, "it has version 3, this program reads 4"},
		"version text":    {[][]byte{gz([]byte(`{"version":"4"}`))}, "a state has no string there"},
		"version 4.0":     {[][]byte{gz([]byte(`{"version":4.0}`))}, "a state has no number 4.0 there"},
		"negative serial": {[][]byte{gz([]byte(`{"version":4,"serial":-1}`))}, "a state has no number -1 there"},
		"lineage 5":       {[][]byte{gz([]byte(`{"version":4,"lineage":5}`))}, "a state has no number there"},
		"tool version 5":  {[][]byte{gz([]byte(`{"version":4,"terraform_version":5}`))}, "a state has no number there"},
		"outputs nul":     {[][]byte{gz([]byte(`{"version":4,"outputs":nul}`))}, `unexpected '}'`},
		"resources nul":   {[][]byte{gz([]byte(`{"version":4,"resources":nul}`))}, `unexpected '}'`},
		"outputs a list":  {[][]byte{gz([]byte(`{"version":4,"outputs":[]}`))}, `unexpected '['`},
		"output a number": {[][]byte{gz([]byte(`{"version":4,"outputs":{"a":1}}`))}, `unexpected '1'`},
		"resources a map": {[][]byte{gz([]byte(`{"version":4,"resources":{}}`))}, `unexpected '{'`},
		"resource a text": {[][]byte{gz([]byte(`{"version":4,"resources":["a"]}`))}, `unexpected '"'`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := source(tt.data...).Read()
			wantReason(t, err, Corrupt, "")
			if got != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

// Terraform fills every chunk but the last, so behind a full one the next is known to be missing.
func TestReadWithoutTheLastChunk(t *testing.T) {
	noise := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	whole := gz(fmt.Appendf(nil, `{"version":4,"serial":1,"x":"%x"}`, noise))
	for n := 1; n <= 2; n++ {
		var there [][]byte
		for i := range n {
			there = append(there, whole[i*chunkSize:(i+1)*chunkSize])
		}
		_, err := source(there...).Read()
		next := fmt.Sprintf("%s-part-%d", base, n)
		wantReason(t, err, Inconsistent, next)
		if !strings.Contains(err.Error(), strings.Join(parts(0, 1)[:n], ", ")+":") {
			t.Errorf("%v does not list what is there", err)
		}
		doc, err := source(there...).Open()
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, doc)
		wantReason(t, err, Inconsistent, next)
	}
}

// padded is a state of exactly size bytes.
func padded(size int) []byte {
	return append([]byte(`{"version":4,"serial":9}`), bytes.Repeat([]byte(" "), size-24)...)
}

// tooBig is a compressed state of one byte too many.
var tooBig = sync.OnceValue(func() []byte { return gzLevel(padded(MaxSize+1), gzip.BestSpeed) })

func TestReadLimit(t *testing.T) {
	got, err := source(gzLevel(padded(MaxSize), gzip.BestSpeed)).Read()
	if err != nil || got.Size != MaxSize || got.Serial != 9 {
		t.Errorf("64 MiB: %v, %v", got, err)
	}
	_, err = source(tooBig()).Read()
	wantReason(t, err, Corrupt, "")

	// A bomb ends at the limit, whatever it would hold. It is an output, which
	// is the one thing that is kept.
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	_, _ = io.WriteString(z, `{"version":4,"outputs":{"a":{"value":"`)
	xs := bytes.Repeat([]byte("x"), 1<<20)
	for range 80 {
		_, _ = z.Write(xs)
	}
	_ = z.Close()
	_, err = source(bomb.Bytes()).Read()
	wantReason(t, err, Corrupt, "")
	if !strings.Contains(err.Error(), "more than 67108864 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestReadManyAndBigOutputs(t *testing.T) {
	var doc bytes.Buffer
	doc.WriteString(`{"version":4,"outputs":{`)
	for i := range 10_000 {
		fmt.Fprintf(&doc, `"o%d":{"value":%d,"type":"number"},`, i, i)
	}
	big := `"` + strings.Repeat("日本 ", 5<<20/7) + `"`
	fmt.Fprintf(&doc, `"big":{"type":"string","sensitive":true,"value":%s}}}`, big)
	got, err := source(gz(doc.Bytes())).Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Outputs) != 10_001 || string(got.Outputs["o9999"].Value) != "9999" || string(got.Outputs["big"].Value) != big || !got.Outputs["big"].Sensitive {
		t.Errorf("%d outputs, o9999 %s, big of %d bytes", len(got.Outputs), got.Outputs["o9999"].Value, len(got.Outputs["big"].Value))
	}
}

func TestReadNulls(t *testing.T) {
	doc := `{"version":4,"terraform_version":null,"serial":null,"lineage":null,"outputs":{"a":null,"b":{"value":null,"sensitive":null,"what is new":[{}]}},"resources":[null,{"mode":null}]}`
	got, err := ReadJSON(strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	want := &Summary{Outputs: map[string]Output{"a": {}, "b": {Value: []byte("null")}}, Size: int64(len(doc))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := ReadJSON(strings.NewReader(`{"version":4,"outputs":null,"resources":null}`)); err != nil {
		t.Error(err)
	}
}

func TestReadJSONKeepsTheReadersError(t *testing.T) {
	boom := errors.New("connection reset")
	_, err := ReadJSON(io.MultiReader(strings.NewReader(`{"version":4,`), failing{boom}))
	if !errors.Is(err, boom) || errors.Is(err, Corrupt) {
		t.Errorf("got %v, want %v and no reason", err, boom)
	}
	_, err = ReadJSON(failing{nil})
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v, want %v", err, io.ErrNoProgress)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestOpen(t *testing.T) {
	doc := testdata(t, "tofu.json")
	r, err := source(append(split(gz(doc), 3), []byte("left behind"))...).Open()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, doc) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	_, err = source().Open()
	wantReason(t, err, NotFound, "")
	r, err = source(tooBig()).Open()
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, r)
	wantReason(t, err, Corrupt, "")
}

// What a summary allocates, all in all, does not depend on the size of the state,
// nor on how little one part of it is like another.
func TestReadMemory(t *testing.T) {
	resource := bigState(400) // just one
	resource = resource[bytes.IndexByte(resource, '[')+1 : bytes.LastIndexByte(resource, ']')]
	alike := func(int) []byte { return resource }
	unlike := func(i int) []byte {
		return fmt.Appendf(nil, `{"mode":"managed","instances":[{"%d":%d,"k%d":{"a":[]}}]}`, i, i, i)
	}
	longKeys := func(i int) []byte {
		return fmt.Appendf(nil, `{"mode":"managed","instances":[{"%d%s":0}]}`, i, strings.Repeat("k", 4000))
	}
	for name, tt := range map[string]struct {
		resource func(int) []byte
		size     int
	}{
		"1 MiB":     {alike, 1 << 20},
		"16 MiB":    {alike, 16 << 20},
		"64 MiB":    {alike, MaxSize - 1<<20},
		"unlike":    {unlike, 4 << 20},
		"long keys": {longKeys, 16 << 20},
	} {
		t.Run(name, func(t *testing.T) { checkMemory(t, tt.resource, tt.size) })
	}
}

func checkMemory(t *testing.T, resource func(int) []byte, size int) {
	const limit = 768 << 10
	doc, n := []byte(`{"version":4,"resources":[null`), 0
	for ; len(doc) < size; n++ {
		doc = append(append(doc, ','), resource(n)...)
	}
	s := source(gzLevel(append(doc, "]}"...), gzip.BestSpeed))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := s.Read()
	runtime.ReadMemStats(&after)
	if err != nil || got.Resources != n {
		t.Fatalf("%v, %v, want %d resources", got, err, n)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > limit {
		t.Errorf("%d bytes for a state of %d, want at most %d", used, len(doc), limit)
	}
}
