package state

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

const testSuffix = "0123456789abcdef-m"

// bigState returns a state of about size bytes as a runtime writes it, indented.
func bigState(size int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	hex := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "0123456789abcdef"[rnd.IntN(16)]
		}
		return string(b)
	}
	var b bytes.Buffer
	b.WriteString(`{
  "version": 4,
  "terraform_version": "1.12.6",
  "serial": 42,
  "lineage": "15b5ea21-c197-a2bd-e4b8-7fe4461816e0",
  "outputs": {
    "endpoint": {
      "value": "https://example",
      "type": "string"
    }
  },
  "resources": [`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		attributes := map[string]any{
			"ami": "ami-" + hex(17), "arn": "arn:aws:ec2:eu-west-1:123456789012:instance/i-" + hex(17), "associate_public_ip_address": true,
			"availability_zone": "eu-west-1a", "cpu_core_count": 2, "ebs_block_device": []any{}, "hibernation": nil,
			"id": "i-" + hex(17), "instance_type": "m5.large", "private_ip": fmt.Sprintf("10.0.%d.%d", rnd.IntN(256), rnd.IntN(256)),
			"root_block_device": []any{map[string]any{"device_name": "/dev/sda1", "encrypted": true, "iops": 3000, "volume_id": "vol-" + hex(17), "volume_size": 100}},
			"tags":              map[string]any{"Name": fmt.Sprintf("node-%d", i), "cluster": "production \"blue\"", "team": "platform"},
			"user_data":         hex(40), "vpc_security_group_ids": []any{"sg-" + hex(17), "sg-" + hex(17)},
		}
		r, err := json.MarshalIndent(map[string]any{
			"mode": "managed", "type": "aws_instance", "name": fmt.Sprintf("node_%d", i), "provider": `provider["registry.opentofu.org/hashicorp/aws"]`,
			"instances": []any{map[string]any{"schema_version": 1, "attributes": attributes, "sensitive_attributes": []any{}, "private": hex(60)}},
		}, "    ", "  ")
		if err != nil {
			panic(err)
		}
		b.WriteString("\n    ")
		b.Write(r)
	}
	b.WriteString("\n  ],\n  \"check_results\": null\n}\n")
	return b.Bytes()
}

// gz compresses as the runtimes do.
func gz(doc []byte) []byte { return gzLevel(doc, gzip.DefaultCompression) }

func gzLevel(doc []byte, level int) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		panic(err)
	}
	_, _ = z.Write(doc)
	_ = z.Close()
	return b.Bytes()
}

func source(data ...[]byte) Source {
	s := Source{Suffix: testSuffix}
	for i, d := range data {
		name := "tfstate-default-" + testSuffix
		if i > 0 {
			name += fmt.Sprintf("-part-%d", i)
		}
		s.Chunks = append(s.Chunks, Chunk{Name: name, Data: d})
	}
	return s
}

// BenchmarkRead reads the same bytes three ways in turns: decompressed only,
// summarised, and unmarshalled into the structs that most readers use. It reports
// the best computing time of each, and what the other two take in terms of gunzip alone.
func BenchmarkRead(b *testing.B) {
	doc := bigState(16 << 20)
	data := gz(doc)
	b.SetBytes(int64(len(doc)))
	gunzip, summary, unmarshal := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for b.Loop() {
		gunzip = min(gunzip, timed(b, func() error { return decompress(data, io.Discard) }))
		summary = min(summary, timed(b, func() error { _, err := source(data).Read(); return err }))
		unmarshal = min(unmarshal, timed(b, func() error {
			var all bytes.Buffer
			if err := decompress(data, &all); err != nil {
				return err
			}
			var s usualState
			return json.Unmarshal(all.Bytes(), &s)
		}))
	}
	b.ReportMetric(float64(gunzip.Microseconds())/1e3, "gunzip-ms")
	b.ReportMetric(float64(summary.Microseconds())/1e3, "summary-ms")
	b.ReportMetric(float64(unmarshal.Microseconds())/1e3, "unmarshal-ms")
	b.ReportMetric(summary.Seconds()/gunzip.Seconds(), "summary/gunzip")
	b.ReportMetric(unmarshal.Seconds()/summary.Seconds(), "unmarshal/summary")
}

// BenchmarkReadMemory summarises states of growing size. It reports what that allocates, all in all, which is more than
// it has at any moment, and how much of it is gunzip's, which makes new tables for every block.
func BenchmarkReadMemory(b *testing.B) {
	for _, mib := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("%d-MiB", mib), func(b *testing.B) {
			data := gzLevel(bigState(mib<<20-1<<15), gzip.BestSpeed)
			var gunzip, summary uint64
			for b.Loop() {
				gunzip += allocated(b, func() error { return decompress(data, io.Discard) })
				summary += allocated(b, func() error { _, err := source(data).Read(); return err })
			}
			b.ReportMetric(float64(summary)/float64(b.N)/1024, "summary-KiB")
			b.ReportMetric(float64(gunzip)/float64(b.N)/1024, "of-gunzip-KiB")
		})
	}
}

func allocated(b *testing.B, f func() error) uint64 {
	b.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := f(); err != nil {
		b.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func timed(b *testing.B, f func() error) time.Duration {
	b.Helper()
	start := cpuTime(b)
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return cpuTime(b) - start
}

func decompress(data []byte, w io.Writer) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, z)
	return err
}

// usualState is how a state is commonly unmarshalled.
type usualState struct {
	Version          int               `json:"version"`
	TerraformVersion string            `json:"terraform_version"`
	Serial           uint64            `json:"serial"`
	Lineage          string            `json:"lineage"`
	Outputs          map[string]Output `json:"outputs"`
	Resources        []struct {
		Mode      string `json:"mode"`
		Type      string `json:"type"`
		Name      string `json:"name"`
		Instances []struct {
			Attributes map[string]any `json:"attributes"`
		} `json:"instances"`
	} `json:"resources"`
}
