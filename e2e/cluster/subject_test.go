//go:build e2e

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/runner/naming"
)

// runtimes are the images of the two, by what the image is called.
var runtimes = []string{"opentofu", "terraform"}

// subject is one object with one state, in a namespace of its own that allows restricted pods only. Its resources
// are files in a folder that outlives every pod.
type subject struct {
	client  *kubernetes.Clientset
	runtime string
	object  naming.Object
	suffix  string
	data    string // the folder, on this machine
	pods    *podLog
	attempt int
}

// dataDir is where the pods see that folder.
const dataDir = "/captf/data"

var subjects atomic.Int64

func newSubject(t *testing.T, runtime string) *subject {
	t.Helper()
	name := fmt.Sprintf("e2e-%d-%d", os.Getpid(), subjects.Add(1))
	s := &subject{client: admin(t), runtime: runtime, data: t.TempDir()}
	s.object = naming.Object{Kind: naming.Cluster, Namespace: name, Name: "demo", Cluster: "demo"}
	s.suffix = naming.Suffix(s.object)
	if err := os.Chmod(s.data, 0o777); err != nil { // the pods run as another user
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if _, err := s.client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tryKubectl(t, "delete", "namespace", name, "--wait=false") })
	kubectl(t, "-n", name, "apply", "-f", deploy(t, "rbac.yaml"))
	s.volume(t)
	s.pods = watchPods(t, s.client.CoreV1().Pods(name))
	return s
}

// volume makes the folder a claim: a restricted pod cannot name a path of its node.
func (s *subject) volume(t *testing.T) {
	t.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes, class, name := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, "", s.object.Namespace
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: s.data}},
	}}
	if _, err := s.client.CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tryKubectl(t, "delete", "persistentvolume", name, "--wait=false") })
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: modes, StorageClassName: &class, VolumeName: name, Resources: corev1.VolumeResourceRequirements{Requests: size},
	}}
	if _, err := s.client.CoreV1().PersistentVolumeClaims(name).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// root is the rendered root: two files, one after the other. The balloon is a value of so many MB, in the
// apply only, once the first file is there.
const root = `
terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}
variable "delay" { default = "0s" } # of each file, unless it has one of its own
variable "first" { default = null }
variable "second" { default = null }
variable "stubborn" { default = false }
variable "balloon" { default = 0 }
resource "probe_file" "first" {
  path  = "` + dataDir + `/first"
  delay = coalesce(var.first, var.delay)
}
resource "probe_file" "second" {
  path     = "` + dataDir + `/second"
  content  = probe_file.first.id
  delay    = coalesce(var.second, var.delay)
  stubborn = var.stubborn
}
resource "terraform_data" "balloon" {
  count = var.balloon > 0 ? 1 : 0
  input = length(join("", [for i in range(probe_file.first.id != "" ? var.balloon : 0) : format("%01000000d", i)]))
}
`

// render writes the root's Secret, with variables as JSON.
func (s *subject) render(t *testing.T, variables string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "demo-root"}, StringData: map[string]string{
		"main.tf": root, "terraform.tfvars.json": variables,
	}}
	secrets := s.client.CoreV1().Secrets(s.object.Namespace)
	_, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	if err != nil {
		_, err = secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// job is the example Job of an operation, as a controller would have it for this object.
func (s *subject) job(t *testing.T, op naming.Op, changes ...func(*batchv1.Job)) *batchv1.Job {
	t.Helper()
	s.attempt++
	name, err := naming.JobName(s.object, op, s.attempt, "h2:e2e", "")
	if err != nil {
		t.Fatal(err)
	}
	settings, err := naming.BackendConfig(s.object)
	if err != nil {
		t.Fatal(err)
	}
	job := exampleJob(t, string(op))
	job.Name = name
	for _, setting := range settings {
		setFlag(job, "--backend-config="+setting)
	}
	pod := &job.Spec.Template.Spec
	pod.Containers[0].Image = "localhost/captf-example-mirror-" + s.runtime + ":dev"
	s.withData(pod)
	for _, change := range changes {
		change(job)
	}
	return job
}

// withData mounts the subject's folder.
func (s *subject) withData(pod *corev1.PodSpec) {
	c := &pod.Containers[0]
	c.Env = append(c.Env, corev1.EnvVar{Name: "PROBE_LEDGER", Value: dataDir + "/ledger"})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: dataDir})
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}})
}

// start creates a Job.
func (s *subject) start(t *testing.T, job *batchv1.Job) *batchv1.Job {
	t.Helper()
	made, err := s.client.BatchV1().Jobs(s.object.Namespace).Create(t.Context(), job, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create Job %s: %v", job.Name, err)
	}
	return made
}

// ledger is what the provider did to the files, in order.
func (s *subject) ledger(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "ledger"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), dataDir+"/", "")), "\n")
}

// made reports whether one of the files is there.
func (s *subject) made(name string) bool {
	_, err := os.Stat(filepath.Join(s.data, name))
	return err == nil
}
