package lock_test

import (
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/lock"
)

func TestClassifyUnlock(t *testing.T) {
	block := tofuHTTP[strings.Index(tofuHTTP, "Lock Info:"):]
	tests := map[string]struct {
		exit   int
		text   string
		want   lock.Outcome
		holder string
	}{
		"released":              {0, "OpenTofu state has been successfully unlocked!\n", lock.Released, ""},
		"kubernetes, other":     {1, "Error: Failed to unlock state: lock id \"x\" does not match existing lock\n" + block, lock.HeldByOther, holder.ID},
		"the same, Terraform":   {1, "Failed to unlock state: lock id \"x\" does not match existing lock\n" + block, lock.HeldByOther, holder.ID},
		"the same, wrapped":     {1, "Failed to unlock state: lock id \"x\" does not match\nexisting lock\n" + block, lock.HeldByOther, holder.ID},
		"the same, framed, red": {1, framed("Error: Failed to unlock state: lock id \"x\" does not match\nexisting\x1b[0m lock\n"+block, "╷", "\x1b[31m│\x1b[0m ", "╵"), lock.HeldByOther, holder.ID},
		"http, other":           {1, "Error: Failed to unlock state: Unexpected HTTP response code 409", lock.HeldByOther, ""},
		"http, other, 423":      {1, "Failed to unlock state: Unexpected HTTP response code 423", lock.HeldByOther, ""},
		"kubernetes, gone":      {1, "Error: Failed to unlock state: state is already unlocked", lock.AlreadyUnlocked, ""},
		"http, gone":            {1, "Failed to unlock state: Unexpected HTTP response code 404", lock.AlreadyUnlocked, ""},
		"no Lease":              {1, "Failed to unlock state: leases.coordination.k8s.io \"lock-tfstate-default-x\" not\nfound", lock.AlreadyUnlocked, ""},
		"no info, case 44":      {1, "Failed to unlock state: failed to retrieve lock info: unexpected end of JSON input", lock.AlreadyUnlocked, ""},
		"no info, DynamoDB":     {1, "Failed to unlock state: failed to retrieve lock info: no lock info found for: \"b/k\" within the DynamoDB table: t", lock.AlreadyUnlocked, ""},
		"no lock file, S3":      {1, "Error: Failed to unlock state: failed to retrieve s3 lock info: operation error S3: GetObject, https response\nerror StatusCode: 404, RequestID: 0F72, HostID: e5C=, NoSuchKey: The specified key does not exist.", lock.AlreadyUnlocked, ""},
		"no object, GCS":        {1, "Failed to unlock state: storage: object doesn't exist: googleapi: Error 404: No such object", lock.AlreadyUnlocked, ""},
		"no object, Terraform":  {1, "Failed to unlock state: 2 errors occurred:\n\t* storage: object doesn't exist\n\t* storage: object doesn't exist\n", lock.AlreadyUnlocked, ""},
		"GCS, other":            {1, "Failed to unlock state: googleapi: Error 412: At least one of the pre-conditions did not hold., conditionNotMet\n" + block, lock.HeldByOther, holder.ID},
		"number, case 42":       {1, "Error: Lock ID should be numerical\n\ngot: \"1dc81f46\"", lock.Unsupported, ""},
		"local, case 43":        {1, "Error: Failed to unlock state: LocalState not locked", lock.Unsupported, ""},
		"local, asked":          {1, "Local state cannot be unlocked by another process", lock.Unsupported, ""},
		"no unlock address":     {1, "Error: Locking disabled\n\nLocking is disabled for this backend.", lock.Unsupported, ""},

		// Failures.
		"forbidden":          {1, `Failed to unlock state: leases.coordination.k8s.io "x" is forbidden: User "u" cannot get resource "leases"`, "", ""},
		"S3 denied":          {1, "Failed to unlock state: failed to retrieve lock info: AccessDenied: no", "", ""},
		"S3, lock denied":    {1, "Failed to unlock state: failed to retrieve s3 lock info: operation error S3: GetObject, https response error StatusCode: 403, AccessDenied: no", "", ""},
		"no such bucket":     {1, "Failed to unlock state: storage: bucket doesn't exist", "", ""},
		"GCS, denied":        {1, "Failed to unlock state: googleapi: Error 403: no access, forbidden", "", ""},
		"http, 500":          {1, "Failed to unlock state: Unexpected HTTP response code 500", "", ""},
		"http, 4090":         {1, "Failed to unlock state: Unexpected HTTP response code 4090", "", ""},
		"state GET, 404":     {1, "Failed to load state: Unexpected HTTP response code 404", "", ""},
		"no namespace":       {1, `Failed to unlock state: namespaces "x" not found`, "", ""},
		"locked, no state":   {1, "Error: Failed to load state: the state is already locked by another tofu client\n" + block, "", ""},
		"not asked":          {1, "Error: Error asking for confirmation: EOF", "", ""},
		"killed, no text":    {137, "", "", ""},
		"backend not set up": {1, `Error: Backend initialization required, please run "tofu init"`, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := lock.ClassifyUnlock(test.exit, test.text)
			if got.Outcome != test.want || ok != (test.want != "") {
				t.Errorf("outcome %q, %v; want %q", got.Outcome, ok, test.want)
			}
			if got.Holder.ID != test.holder {
				t.Errorf("holder %q, want %q", got.Holder.ID, test.holder)
			}
		})
	}
}
