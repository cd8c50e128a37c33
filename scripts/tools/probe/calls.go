package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func (file) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() { // a destroy
		return
	}
	var model fileModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &model)...)
	_ = hold(ctx, "plan", model.Path.ValueString())
	resp.Diagnostics.Append(model.failure("plan")...)
}

func (file) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	model, diags := change(ctx, "create", req.Plan, fileModel.write)
	if !diags.HasError() {
		model.ID = model.Path
		diags.Append(resp.State.Set(ctx, model)...)
	}
	resp.Diagnostics.Append(diags...)
}

func (file) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	model, diags := change(ctx, "update", req.Plan, fileModel.write)
	if !diags.HasError() {
		diags.Append(resp.State.Set(ctx, model)...)
	}
	resp.Diagnostics.Append(diags...)
}

func (file) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	_, diags := change(ctx, "delete", req.State, fileModel.remove)
	resp.Diagnostics.Append(diags...)
}

func (file) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var model fileModel
	resp.Diagnostics.Append(req.State.Get(ctx, &model)...)
	_ = hold(ctx, "read", model.Path.ValueString())
	resp.Diagnostics.Append(model.failure("read")...)
	if resp.Diagnostics.HasError() {
		return
	}
	content, err := os.ReadFile(model.Path.ValueString())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		resp.Diagnostics.AddError("The file cannot be read", err.Error())
		return
	}
	if string(content) != model.Content.ValueString() { // an empty file is what no content makes
		model.Content = types.StringValue(string(content))
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
}

// getter is a plan or a state.
type getter interface {
	Get(context.Context, any) diag.Diagnostics
}

// change is the common course of create, update and delete: wait, fail, take effect, note it.
func change(ctx context.Context, call string, from getter, effect func(fileModel) error) (model fileModel, _ diag.Diagnostics) {
	diags := from.Get(ctx, &model)
	if !diags.HasError() {
		diags.Append(model.wait(ctx, call)...)
		diags.Append(model.failure(call)...)
	}
	if diags.HasError() {
		return model, diags
	}
	path := model.Path.ValueString()
	err := effect(model)
	if err == nil {
		err = note(call, path)
	}
	_ = hold(ctx, "after-"+call, path) // done is done: a stop changes nothing any more
	if err != nil && !errors.Is(err, errGone) {
		diags.AddError("The "+call+" of the file did not work", err.Error())
	}
	return model, diags
}

func (m fileModel) write() error {
	return os.WriteFile(m.Path.ValueString(), []byte(m.Content.ValueString()), 0o644)
}

// errGone says that there was nothing to remove.
var errGone = errors.New("already gone")

func (m fileModel) remove() error {
	err := os.Remove(m.Path.ValueString())
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	return err
}

// note appends one line to the ledger in a single write, because providers of several runs may share it.
func note(call, path string) error {
	name := os.Getenv("PROBE_LEDGER")
	if name == "" {
		return nil
	}
	ledger, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(ledger, "%s %s\n", call, path)
	return errors.Join(err, ledger.Close())
}
